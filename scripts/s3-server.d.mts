export function hasS3(): boolean;
export function startS3(): { ready(): Promise<string>; stop(): Promise<void> };
