import { sandboxContract } from '../contracts/sandbox.ts';
import { BUBBLEWRAPS } from '../support/drivers.ts';
import { tidy } from '../support/temp.ts';

tidy();

for (const driver of BUBBLEWRAPS) sandboxContract(driver);
