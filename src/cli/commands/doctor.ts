import { GUARANTEES } from '../../app.ts';
import { EXIT } from '../../base/index.ts';
import type { Command } from '../command.ts';
import { withSkillbox } from '../connect.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Say what the sandboxes on this machine really hold, by trying, and how to mend what is missing.',
  args: [],
  options: { json: { help: 'print one JSON document' } },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const reports = await skillbox.examine();
      const usable = reports.some(report => report.usable);
      if (input.flag('json')) {
        const drivers = reports.map(report => ({ ...report, enforces: Object.fromEntries(report.enforces) }));
        io.out(`${JSON.stringify({ usable, drivers, warm: skillbox.warmth() }, null, 2)}\n`);
      } else {
        const width = Math.max(...GUARANTEES.map(name => name.length));
        io.out(`${' '.repeat(width)}  ${reports.map(report => report.driver.padEnd(16)).join('')}\n`);
        for (const guarantee of GUARANTEES) {
          const cells = reports.map(({ enforces }) => {
            const level = enforces.get(guarantee) ?? 'none';
            return io.paint(level === 'none' ? 'red' : level === 'polled' ? 'yellow' : 'green', level.padEnd(16));
          });
          io.out(`${guarantee.padEnd(width)}  ${cells.join('')}\n`);
        }
        for (const { driver, problems } of reports) {
          for (const { what, fix, fatal } of problems) {
            io.out(
              `\n${io.paint(fatal ? 'red' : 'yellow', driver)}: ${what}\n${fix === null ? '' : `  mend it with: ${fix}\n`}`,
            );
          }
        }
        const { standby, ...sandboxes } = skillbox.warmth();
        io.out(`\nwarm pool: ${describeHeld(sandboxes)}\n`);
        const size = standby.inAll === 0 ? '' : `, ${Math.round(standby.bytes / 1024 ** 2)} MiB`;
        io.out(`brokers and proxies held ready: ${describeHeld(standby)}${size}\n`);
        io.out(usable ? '' : `\n${io.paint('red', 'No sandbox can be used; skills cannot run here.')}\n`);
      }
      return usable ? EXIT.ok : EXIT.sandbox;
    }),
};

function describeHeld({ inAll, ready, starting }: { inAll: number; ready: number; starting: number }): string {
  return inAll === 0 ? 'off' : `${ready} ready, ${starting} starting, at most ${inAll}`;
}
