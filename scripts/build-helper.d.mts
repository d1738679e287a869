export function buildHelper(): string;
export function buildScanner(): string;
