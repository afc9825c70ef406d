import { describeAgreement } from '../../helpers/describe-agreement.ts';
import { workflowFiles } from './workflow-files.ts';

describeAgreement('workflows', 500, workflowFiles);
