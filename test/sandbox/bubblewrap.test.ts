import { sandboxContract } from '../contracts/sandbox.ts';
import { BUBBLEWRAPS } from '../support/drivers.ts';

for (const driver of BUBBLEWRAPS) sandboxContract(driver);
