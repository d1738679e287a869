export function hasSwift(): boolean;
export function startSwift(): { ready(): Promise<string>; stop(): Promise<void> };
