/** What somebody else wrote here is no list that was sealed: the seal says so when the row is opened. */
export function hostsOf(text: unknown): string[] {
  try {
    const hosts: unknown = JSON.parse(String(text));
    return Array.isArray(hosts) ? hosts.map(String) : ['?'];
  } catch {
    return ['?'];
  }
}
