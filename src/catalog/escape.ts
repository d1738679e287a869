/** For text and attribute values. Everything that comes here is cleaned already and stands on one line, or is meant not to. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, found => ENTITIES[found] ?? found);
}

/** For text between tags, where quotes need no escape: the seed's example holds as it is written. */
export function escapeXmlText(text: string): string {
  if (!MARKUP.test(text)) return text;
  return text.replace(/[&<>]/g, found => ENTITIES[found] ?? found);
}

const MARKUP = /[&<>]/;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that Markdown shows as it is: no emphasis, link, code, heading, table or HTML comes out of it. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~&!]/g, '\\$&').replace(/^([-+=]|\d+[.)])/, '\\$1');
}
