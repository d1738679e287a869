/** A piece of what a run printed, as it was read. */
export type LogEntry = { stream: 'stdout' | 'stderr'; timeMs: number; bytes: Buffer };

/** `next`: where the piece after it begins. */
export type PlacedEntry = LogEntry & { next: number };

/** `offset`: where the next part begins. */
export type LogSlice = { entries: PlacedEntry[]; offset: number };

/** The log of a run that goes on. */
export interface RunLog {
  /** How many bytes were written, without what frames them. */
  readonly bytes: number;
  /** Throws UNWRITABLE when it cannot be kept, at once or with a later piece. */
  write(stream: LogEntry['stream'], bytes: Buffer): void;
  /** When everything is kept, and can be read. May be called again. */
  close(): Promise<void>;
}

/** SB-10: what runs print, in the order read, each piece with its stream and time; readable while it grows. */
export interface RunLogs {
  /**
   * A log that is there already belongs to an earlier attempt, which is over: nothing of it stays. `onKept`: more of it can be
   * read now, which may be a while after it was written.
   */
  create(run: { id: string; attempt: number }, onKept?: () => void): Promise<RunLog>;
  /** Reads on from an offset, 0 for the beginning: about `maxBytes`, at least one piece when there is one. */
  read(id: string, offset: number, maxBytes: number): Promise<LogSlice>;
  remove(ids: readonly string[]): Promise<void>;
}
