/** The formats that a report can be written in. */
export const formats = ['text'];
