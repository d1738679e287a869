import { sandboxContract } from '../contracts/sandbox.ts';
import { DOCKER } from '../support/drivers.ts';
import { tidy } from '../support/temp.ts';

tidy();
sandboxContract(DOCKER);
