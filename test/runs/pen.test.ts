import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/index.ts';
import { Pen } from '../../src/runs/pen.ts';
import type { RunRecord, RunRecords } from '../../src/store/index.ts';

const event = (type: string) =>
  ({ type, actor: { id: 'a', channel: 'local' }, tenant: null, data: {} }) as never as AuditEvent;
const DECIDED = { events: [event('run.accepted')], durability: 'later' } as const;

/** What was asked of the store, in order. */
function watched(fails: (call: string) => boolean = () => false) {
  const calls: string[] = [];
  const call = async (how: string, { state }: RunRecord, events: readonly AuditEvent[], durability = 'by default') => {
    const words = [how, state, ...events.map(({ type }) => type), durability].join(' ');
    calls.push(words);
    if (fails(words)) throw new Error('the disk is full');
  };
  const runs = {
    insert: (run: RunRecord, events: readonly AuditEvent[], durability?: string) =>
      call('insert', run, events, durability),
    update: (run: RunRecord, events: readonly AuditEvent[], durability?: string) =>
      call('update', run, events, durability).then(() => true),
  } as never as RunRecords;
  return { runs, calls };
}

const recordOf = (state: string) => ({ id: 'run', state }) as never as RunRecord;

describe('what is written of a run', () => {
  it('that begins at once: one transaction before its first process, and one for its end', async () => {
    const { runs, calls } = watched();
    const record = recordOf('running');
    const pen = new Pen(runs, record, DECIDED);
    expect(await pen.write([event('run.started')], 'later')).toBe(true);
    record.state = 'success';
    await pen.write([event('run.ended')]);
    expect(calls).toEqual(['insert running run.accepted run.started later', 'update success run.ended by default']);
  });

  it('that leaves traces is on the disk before it begins, whichever of the two asks for it', async () => {
    const first = watched();
    await new Pen(first.runs, recordOf('running'), { ...DECIDED, durability: 'full' }).write([], 'later');
    const second = watched();
    await new Pen(second.runs, recordOf('running'), DECIDED).write([], 'full');
    expect([...first.calls, ...second.calls].map(call => call.split(' ').at(-1))).toEqual(['full', 'full']);
  });

  it('that never begins: what was decided, and its end, on the disk', async () => {
    const { runs, calls } = watched();
    await new Pen(runs, recordOf('failed'), DECIDED).write([event('run.ended')]);
    expect(calls).toEqual(['insert failed run.accepted run.ended full']);
  });

  it('that takes long to begin: others see it meanwhile', async () => {
    const { runs, calls } = watched();
    const record = recordOf('preparing');
    const pen = new Pen(runs, record, DECIDED);
    await sleep(120);
    expect(calls).toEqual(['insert preparing run.accepted later']);
    record.state = 'running';
    await pen.write([event('run.started')], 'later');
    expect(calls.at(-1)).toBe('update running run.started later');
  });

  it('what could not be written meanwhile is told before anything begins', async () => {
    const { runs } = watched(call => call.startsWith('insert preparing'));
    const pen = new Pen(runs, recordOf('preparing'), DECIDED);
    await sleep(120);
    await expect(pen.write([event('run.started')])).rejects.toThrow('the disk is full');
  });

  it('what could not be written is not taken for written: the end is recorded with it', async () => {
    const { runs, calls } = watched(call => call.includes('run.started'));
    const record = recordOf('running');
    const pen = new Pen(runs, record, DECIDED);
    await expect(pen.write([event('run.started')])).rejects.toThrow('the disk is full');
    record.state = 'failed';
    await pen.write([event('run.ended')]);
    expect(calls.at(-1)).toBe('insert failed run.accepted run.ended full');
  });
});
