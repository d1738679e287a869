export const IMAGE: string;
export function startEngine(): { socket: string; stop(): void } | null;
