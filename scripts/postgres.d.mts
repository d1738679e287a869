export function findPostgres(): string | null;
export function startPostgres(): { url: string; stop(): void };
