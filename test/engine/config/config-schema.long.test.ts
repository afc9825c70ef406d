import { describeAgreement } from '../../helpers/describe-agreement.ts';
import { configFiles } from './config-files.ts';

describeAgreement('configurations', 500, configFiles);
