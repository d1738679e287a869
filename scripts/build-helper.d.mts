export function buildHelper(): string;
