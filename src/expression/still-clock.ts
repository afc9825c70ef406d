/**
 * Replaces `Date` so that `new Date()` is always the epoch, while `isStill()` says so.
 *
 * JSONata's `$toMillis` with a picture fills what the picture leaves out from the current date, which no static check can
 * see; a decision must not depend on the day. `Date.now()` stays, for JSONata's time box measures with it.
 */
export function stillClock(isStill: () => boolean): void {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args: [], newTarget) {
      const instant: unknown = Reflect.construct(target, args.length === 0 && isStill() ? [0] : args, newTarget);
      // Reflect.construct of Date makes a Date.
      return instant as Date;
    },
  });
}
