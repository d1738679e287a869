import type { Severity } from './diagnostic.ts';

/** One kind of finding: how severe it is when read strictly and leniently, and what docs/diagnostics.md says of it. */
export type CodeEntry = {
  strict: Severity;
  lenient: Severity;
  title: string;
  why: string;
  hint: string;
  requirement: string;
};

export const CODES = {
  // The folder
  'folder-link-outside': { strict: 'error', lenient: 'warning', title: 'a link that leads out of the skill, or nowhere', why: 'Nothing outside the skill folder is ever read, so the file is not there for anybody.', hint: 'Replace the link by the file itself.', requirement: 'X-08' },
  'folder-link-inside': { strict: 'warning', lenient: 'info', title: 'a link to another file of the skill', why: 'It is read and packed as a copy of that file; links do not survive packaging.', hint: 'Replace the link by the file itself.', requirement: 'X-08' },
  'folder-special-file': { strict: 'error', lenient: 'warning', title: 'a device, socket or FIFO', why: 'A skill consists of regular files.', hint: 'Remove it.', requirement: 'X-08' },
  'folder-hard-link': { strict: 'warning', lenient: 'info', title: 'a file with a second hard link', why: 'The same bytes are reachable under another name, perhaps outside the skill.', hint: 'Replace it by a copy.', requirement: 'X-08' },
  'folder-secret-file': { strict: 'error', lenient: 'warning', title: 'a file that usually holds secrets', why: 'It is left out of the skill: packages are shared, secrets are not.', hint: 'Remove it, or name it in .skillboxignore.', requirement: 'SB-12' },
  'folder-name-unsafe': { strict: 'error', lenient: 'warning', title: 'a file name that other systems cannot hold', why: 'Control characters, invalid UTF-8, backslashes and names that Windows reserves break archives and terminals.', hint: 'Rename the file.', requirement: 'X-08' },
  'folder-name-collision': { strict: 'error', lenient: 'warning', title: 'two names that are one on some systems', why: 'They are equal after case folding or Unicode normalisation; one would overwrite the other.', hint: 'Rename one of them.', requirement: 'X-08' },
  'folder-too-large': { strict: 'error', lenient: 'error', title: 'more files or bytes than a skill may have', why: 'Reading stops at the limits so that nothing can exhaust the machine.', hint: 'Remove what the skill does not need, or name it in .skillboxignore.', requirement: 'X-08' },
  'folder-unreadable': { strict: 'error', lenient: 'warning', title: 'a file that cannot be read', why: 'What cannot be read can be neither checked nor packed.', hint: 'Check its permissions.', requirement: 'X-02' },
  'archive-unsafe': { strict: 'error', lenient: 'error', title: 'an archive that is refused', why: 'It holds an entry that no skill needs and that attacks a reader, or it is damaged.', hint: 'Pack the folder again with `skillbox skill package`.', requirement: 'SB-13' },
  'archive-too-large': { strict: 'error', lenient: 'error', title: 'an archive beyond the limits', why: 'Reading stops at the limits so that nothing can exhaust the machine.', hint: 'Remove what the skill does not need.', requirement: 'SB-13' },
  'nested-skill': { strict: 'info', lenient: 'info', title: 'a skill inside this skill', why: 'The inner SKILL.md is a plain file here; discovery reports it as a skill of its own.', hint: 'Move it beside this skill if it is one.', requirement: 'AS-01' },
  'script-unsupported': { strict: 'info', lenient: 'info', title: 'a script that no runtime is known for', why: 'Scripts run by extension: .py .sh .bash .js .ts (.mjs and .cjs too).', hint: 'Give it one of the known extensions, or call it from a script that has one.', requirement: 'WS-02' },

  // SKILL.md
  'skill-md-missing': { strict: 'error', lenient: 'error', title: 'no SKILL.md', why: 'A skill is a folder with a SKILL.md at its root.', hint: 'Create SKILL.md; `skillbox skill init` writes one.', requirement: 'AS-01' },
  'skill-md-case': { strict: 'warning', lenient: 'warning', title: 'SKILL.md written in another case', why: 'Only some clients look for it under this name.', hint: 'Rename it to SKILL.md.', requirement: 'AS-01' },
  'skill-md-too-large': { strict: 'error', lenient: 'error', title: 'SKILL.md over 1 MiB', why: "It would not fit any model's context.", hint: 'Move detail into references/.', requirement: 'X-04' },
  'skill-md-encoding': { strict: 'error', lenient: 'warning', title: 'SKILL.md is not valid UTF-8', why: 'Broken bytes are read as U+FFFD.', hint: 'Save it as UTF-8.', requirement: 'X-04' },
  'skill-md-bom': { strict: 'info', lenient: 'info', title: 'a byte order mark at the start', why: 'It is skipped, but some clients then miss the frontmatter.', hint: 'Save the file as UTF-8 without BOM.', requirement: 'X-04' },

  // The frontmatter
  'frontmatter-missing': { strict: 'error', lenient: 'error', title: 'no frontmatter', why: 'Name and description stand between two lines of `---` at the start of SKILL.md.', hint: 'Start the file with `---`, `name:`, `description:`, `---`.', requirement: 'AS-01' },
  'frontmatter-preceded': { strict: 'error', lenient: 'warning', title: 'something before the frontmatter', why: 'Strict clients want `---` on the first line.', hint: 'Move the frontmatter to the top.', requirement: 'X-05' },
  'frontmatter-unopened': { strict: 'error', lenient: 'warning', title: 'frontmatter without its opening line', why: 'The fields start the file, but the `---` above them is missing.', hint: 'Add a line `---` at the top.', requirement: 'X-05' },
  'frontmatter-unclosed': { strict: 'error', lenient: 'warning', title: 'frontmatter without its closing line', why: 'The end was taken to be where the fields end.', hint: 'Add a line `---` after the last field.', requirement: 'X-05' },
  'frontmatter-fence': { strict: 'error', lenient: 'warning', title: 'a frontmatter line that is not exactly `---`', why: 'Other clients may not see where the frontmatter starts or ends.', hint: 'Write exactly `---`.', requirement: 'X-05' },
  'frontmatter-language': { strict: 'error', lenient: 'error', title: 'frontmatter in another language than YAML', why: 'Nothing in a skill is evaluated; only YAML is read.', hint: 'Write the frontmatter as YAML between two lines of `---`.', requirement: 'X-04' },
  'frontmatter-too-large': { strict: 'error', lenient: 'error', title: 'frontmatter over 64 KiB', why: 'It is refused unread.', hint: 'Move text into the body.', requirement: 'X-04' },
  'frontmatter-not-mapping': { strict: 'error', lenient: 'error', title: 'frontmatter that is not a mapping', why: 'It must consist of `key: value` lines.', hint: 'Write `name:` and `description:`.', requirement: 'X-02' },
  'yaml-invalid': { strict: 'error', lenient: 'error', title: 'YAML that cannot be read', why: 'The error could not be repaired without guessing.', hint: 'Correct the YAML; a quoted value is never misread.', requirement: 'X-02' },
  'yaml-field-invalid': { strict: 'error', lenient: 'warning', title: 'one field that cannot be read', why: 'The rest was read; this field is kept as its source text.', hint: 'Correct the YAML of this field.', requirement: 'X-05' },
  'yaml-unquoted-colon': { strict: 'error', lenient: 'warning', title: 'an unquoted value with a colon in it', why: 'YAML reads `: ` inside a plain value as another mapping.', hint: 'Put the value in quotes.', requirement: 'X-05' },
  'yaml-colon-space': { strict: 'error', lenient: 'warning', title: 'a colon without a space after it', why: 'YAML reads the line as plain text, not as a field.', hint: 'Write a space after the colon.', requirement: 'X-05' },
  'yaml-reserved-indicator': { strict: 'error', lenient: 'warning', title: 'an unquoted value that starts with a reserved character', why: '`@`, `` ` ``, `*`, `&`, `!`, `%`, `,`, `[` and `{` mean something to YAML at the start of a value.', hint: 'Put the value in quotes.', requirement: 'X-05' },
  'yaml-block-text': { strict: 'error', lenient: 'warning', title: 'text on the line of a block indicator', why: "A block scalar's text starts on the next line.", hint: 'Move the text to the next line, indented, or drop the indicator.', requirement: 'X-05' },
  'yaml-unbalanced-flow': { strict: 'error', lenient: 'warning', title: 'brackets or quotes that do not balance', why: 'The value was read as plain text.', hint: 'Close the bracket or quote, or put the value in quotes.', requirement: 'X-05' },
  'yaml-continuation': { strict: 'error', lenient: 'warning', title: 'a continuation line that is not indented', why: 'YAML reads it as a new key.', hint: 'Indent the line by two spaces.', requirement: 'X-05' },
  'yaml-tab': { strict: 'error', lenient: 'warning', title: 'a tab in the indentation', why: 'YAML forbids tabs there.', hint: 'Use spaces.', requirement: 'X-05' },
  'yaml-control-character': { strict: 'error', lenient: 'warning', title: 'a control character in the frontmatter', why: 'It is read as a space; a lone carriage return as the end of a line, and no field of such frontmatter may ask for power. Other readers see other fields in it.', hint: 'Delete it.', requirement: 'X-05' },
  'yaml-conflict-marker': { strict: 'error', lenient: 'warning', title: 'a merge conflict marker', why: 'The marker lines were skipped.', hint: 'Resolve the conflict.', requirement: 'X-05' },
  'yaml-duplicate-key': { strict: 'error', lenient: 'warning', title: 'a key given twice', why: 'Clients disagree on which one counts; here the last wins.', hint: 'Keep one of them.', requirement: 'X-04' },
  'yaml-alias': { strict: 'error', lenient: 'error', title: 'an anchor or alias', why: 'Aliases can blow a small file up beyond any limit, so they are refused.', hint: 'Write the value out.', requirement: 'X-04' },
  'yaml-forbidden-key': { strict: 'error', lenient: 'error', title: 'a key that objects reserve', why: '`__proto__`, `constructor` and `prototype` attack the reader and mean nothing in a skill.', hint: 'Remove it.', requirement: 'X-04' },
  'yaml-tag': { strict: 'error', lenient: 'warning', title: 'a YAML tag', why: 'Tags ask a reader to build objects; the value is read as plain text.', hint: 'Remove the tag.', requirement: 'X-04' },
  'yaml-multiple-documents': { strict: 'error', lenient: 'error', title: 'more than one YAML document', why: 'A manifest is one document.', hint: 'Keep one.', requirement: 'X-04' },
  'yaml-too-deep': { strict: 'error', lenient: 'error', title: 'nesting beyond 64 levels', why: 'No field of a skill is that deep.', hint: 'Flatten it.', requirement: 'X-04' },
  'yaml-boolean-word': { strict: 'warning', lenient: 'warning', title: 'yes, no, on or off where a boolean belongs', why: 'YAML 1.2 reads it as text; older readers as a boolean.', hint: 'Write true or false.', requirement: 'X-03' },
  'power-field-doubtful': { strict: 'error', lenient: 'warning', title: 'a field that asks for power, in doubt', why: 'It was read as the least power, never repaired in favour of more.', hint: 'Write the value as the format says.', requirement: 'X-11' },

  // Fields of every dialect
  'name-missing': { strict: 'error', lenient: 'warning', title: 'no name', why: "Leniently, the folder's name stands in.", hint: 'Add `name:`.', requirement: 'AS-02' },
  'name-invalid': { strict: 'error', lenient: 'warning', title: 'a name outside the allowed characters', why: 'Lowercase letters, digits and single hyphens between them.', hint: 'Rename the skill.', requirement: 'AS-02' },
  'name-too-long': { strict: 'error', lenient: 'warning', title: 'a name over 64 characters', why: '', hint: 'Shorten it.', requirement: 'AS-02' },
  'name-folder-mismatch': { strict: 'error', lenient: 'warning', title: "the name differs from the folder's", why: 'Clients find a skill by its folder.', hint: 'Rename one of the two.', requirement: 'AS-02' },
  'description-missing': { strict: 'error', lenient: 'error', title: 'no description', why: 'Without one, no model can know when to use the skill, so no client loads it.', hint: 'Add `description:` with what it does and when to use it.', requirement: 'AS-03' },
  'description-too-long': { strict: 'error', lenient: 'warning', title: "a description over the dialect's limit", why: '', hint: 'Shorten it; detail belongs into the body.', requirement: 'AS-03' },
  'hidden-text': { strict: 'warning', lenient: 'warning', title: 'characters that a reader cannot see', why: 'Zero-width, bidirectional, control and tag characters can carry instructions that nobody reviews.', hint: 'Remove them.', requirement: 'X-02' },
  'field-type': { strict: 'error', lenient: 'warning', title: 'a field of the wrong type', why: '', hint: "See the dialect's field table.", requirement: 'X-02' },
  'field-unknown': { strict: 'info', lenient: 'info', title: 'a field that the dialect does not know', why: 'It is kept as it is.', hint: 'Check the spelling, or put it under `metadata`.', requirement: 'X-07' },
  'version-missing': { strict: 'error', lenient: 'warning', title: 'no version', why: 'The dialect requires one.', hint: 'Add `version: 1.0.0`.', requirement: 'X-12' },
  'version-not-semver': { strict: 'error', lenient: 'warning', title: 'a version that is not semver', why: '', hint: 'Write three numbers: 1.0.0.', requirement: 'X-12' },
  'version-not-skillbox': { strict: 'info', lenient: 'info', title: 'a version without an entrypoint', why: 'With `scripts/main.py` (or main.sh, main.js, run.py) the folder would be a skillbox skill.', hint: 'Add an entrypoint if it was meant to run; otherwise nothing.', requirement: 'X-12' },
  'limit-clamped': { strict: 'warning', lenient: 'warning', title: 'a limit over the maximum', why: 'It is held to the maximum.', hint: 'Lower it.', requirement: 'X-09' },

  // agent-skills
  'license-file-missing': { strict: 'warning', lenient: 'warning', title: 'the license names a file that is not there', why: '', hint: 'Add the file, or name the license.', requirement: 'AS-04' },
  'compatibility-too-long': { strict: 'error', lenient: 'warning', title: 'compatibility over 500 characters', why: '', hint: 'Shorten it.', requirement: 'AS-05' },
  'metadata-nested': { strict: 'info', lenient: 'info', title: 'a nested value in metadata', why: 'It is kept; other clients want strings.', hint: 'Flatten it if other clients must read it.', requirement: 'AS-06' },
  'allowed-tools-commas': { strict: 'warning', lenient: 'warning', title: 'allowed-tools separated by commas', why: 'The specification separates by spaces.', hint: 'Use spaces, or a YAML list.', requirement: 'AS-07' },
  'allowed-tools-invalid': { strict: 'error', lenient: 'warning', title: 'an entry of allowed-tools that cannot be read', why: 'It grants nothing.', hint: 'Write `Tool` or `Tool(pattern)`.', requirement: 'AS-07' },
  'body-empty': { strict: 'warning', lenient: 'warning', title: 'no instructions', why: 'The body of SKILL.md is what the agent reads.', hint: 'Write the steps.', requirement: 'AS-01' },
  'body-too-long': { strict: 'warning', lenient: 'warning', title: 'a body over 500 lines or about 5,000 tokens', why: 'All of it enters the context at activation.', hint: 'Move detail into references/.', requirement: 'AS-08' },
  'body-unchecked': { strict: 'info', lenient: 'info', title: 'a body too large to check its links', why: '', hint: 'Split it.', requirement: 'AS-08' },
  'link-broken': { strict: 'warning', lenient: 'warning', title: 'a relative link that points at nothing', why: '', hint: 'Correct the path, or add the file.', requirement: 'AS-08' },
  'link-outside': { strict: 'warning', lenient: 'warning', title: 'a relative link that leaves the skill', why: 'Nothing outside the folder is ever read.', hint: 'Move the file into the skill.', requirement: 'AS-08' },
  'reference-chain': { strict: 'warning', lenient: 'warning', title: 'a reference reached only through another', why: 'Agents follow one level of links from SKILL.md reliably, deeper ones not.', hint: 'Link the file from SKILL.md itself.', requirement: 'AS-08' },

  // skillbox
  'entrypoint-missing': { strict: 'error', lenient: 'warning', title: 'no entrypoint', why: 'A skillbox skill runs scripts/main.py, main.sh, main.js or run.py.', hint: 'Add one in scripts/.', requirement: 'SB-01' },
  'entrypoint-at-root': { strict: 'warning', lenient: 'warning', title: 'an entrypoint beside SKILL.md', why: 'It belongs into scripts/.', hint: 'Move it to scripts/.', requirement: 'SB-01' },
  'lang-invalid': { strict: 'error', lenient: 'warning', title: 'a lang that is none of python, node, bash', why: '', hint: 'Choose one of the three.', requirement: 'SB-02' },
  'lang-missing': { strict: 'error', lenient: 'warning', title: 'an entrypoint of another language without lang', why: 'Without `lang` the language is python.', hint: 'Add the lang of the entrypoint.', requirement: 'SB-02' },
  'lang-mismatch': { strict: 'error', lenient: 'warning', title: 'no entrypoint in the language of lang', why: '', hint: 'Add the entrypoint, or change lang.', requirement: 'SB-02' },
  'image-not-allowed': { strict: 'error', lenient: 'warning', title: 'an image outside the allowlist', why: 'It is refused at publish and at run.', hint: 'Use an allowed image, or have the operator add it.', requirement: 'SB-03' },

  // gibberish
  'gibberish-field-unknown': { strict: 'warning', lenient: 'warning', title: 'a field that gibberish does not know', why: 'It is ignored, and kept.', hint: 'Remove it, or check the spelling.', requirement: 'GB-03' },
  'mode-invalid': { strict: 'error', lenient: 'warning', title: 'a mode that is none of Global, Dev, Meeting', why: 'Unknown modes never match.', hint: 'Use Global, Dev or Meeting.', requirement: 'GB-03' },
  'description-truncated': { strict: 'warning', lenient: 'warning', title: 'a description over 256 characters', why: 'It is cut at 256.', hint: 'Shorten it.', requirement: 'GB-02' },
  'tool-none': { strict: 'error', lenient: 'error', title: 'no tool', why: 'A gibberish skill defines at least one tool: an H3 heading with `#### Command`.', hint: 'Add one.', requirement: 'GB-16' },
  'tool-duplicate': { strict: 'error', lenient: 'error', title: 'two tools of one name', why: '', hint: 'Rename one.', requirement: 'GB-16' },
  'tool-name-invalid': { strict: 'error', lenient: 'warning', title: 'a tool name outside the allowed characters', why: '1 to 32 lowercase letters, digits and underscores. The tool is not offered.', hint: 'Rename it.', requirement: 'GB-04' },
  'tool-no-command': { strict: 'warning', lenient: 'warning', title: 'an H3 section without a command', why: 'It is no tool.', hint: 'Add `#### Command` with a fenced command, or use another heading level.', requirement: 'GB-04' },
  'tool-no-parameters': { strict: 'warning', lenient: 'warning', title: 'a tool without a parameters section', why: 'It takes none.', hint: 'Add `#### Parameters` with a table or "None.".', requirement: 'GB-16' },
  'tool-command-invalid': { strict: 'error', lenient: 'warning', title: 'a command section that is not one fenced command', why: '', hint: 'Put exactly one fenced code block under `#### Command`.', requirement: 'GB-04' },
  'parameter-invalid': { strict: 'error', lenient: 'warning', title: 'a parameter row that cannot be read', why: 'The tool is not offered.', hint: 'Give it name, type, yes or no, and description.', requirement: 'GB-04' },
  'parameter-unused': { strict: 'warning', lenient: 'warning', title: 'a parameter that the command does not use', why: '', hint: 'Use it, or remove the row.', requirement: 'GB-04' },
  'parameter-default-invalid': { strict: 'error', lenient: 'warning', title: 'a default of another type than the parameter', why: '', hint: 'Correct the default.', requirement: 'GB-05' },
  'template-empty': { strict: 'error', lenient: 'warning', title: 'an empty command', why: '', hint: 'Write the command.', requirement: 'GB-09' },
  'template-program': { strict: 'error', lenient: 'warning', title: 'a placeholder in program position', why: 'A value must never choose the program.', hint: 'Write the program out.', requirement: 'GB-09' },
  'template-quote': { strict: 'error', lenient: 'warning', title: 'a quote that is never closed', why: '', hint: 'Close it.', requirement: 'GB-09' },
  'template-undeclared': { strict: 'error', lenient: 'warning', title: 'a placeholder that no parameter declares', why: '', hint: 'Add a row for it, or correct the name.', requirement: 'GB-09' },
  'template-lines': { strict: 'error', lenient: 'warning', title: 'a second command line', why: 'A tool is one command.', hint: 'Put the steps into a script, or continue the line with a backslash.', requirement: 'GB-09' },
  'template-placeholder': { strict: 'error', lenient: 'warning', title: 'braces that are not a placeholder', why: 'Placeholders are {{name}} or {{name:modifier}}.', hint: 'Correct it.', requirement: 'GB-09' },
  'template-shell': { strict: 'warning', lenient: 'warning', title: 'shell syntax in a command', why: 'Commands run without a shell; the characters are passed literally.', hint: 'Quote them if that is meant, or put the command into a script.', requirement: 'GB-09' },
  'template-flag-stays': { strict: 'warning', lenient: 'warning', title: 'a flag before an optional placeholder', why: 'Without the argument the flag stays and takes what follows.', hint: 'Write `--flag={{name}}`, or `{{name:--flag}}`.', requirement: 'GB-07' },
  'template-dash': { strict: 'info', lenient: 'info', title: 'a positional value may begin with `-`', why: 'The program would take it for an option; strict policy refuses such values.', hint: 'Put `--` before it, if the program knows that.', requirement: 'GB-09' },
  'template-program-missing': { strict: 'error', lenient: 'warning', title: 'a program that is not in the skill', why: '', hint: 'Add the file, or correct the path.', requirement: 'GB-10' },

  // seksbot
  'manifest-missing': { strict: 'error', lenient: 'error', title: 'no manifest', why: 'A seksbot skill has skill.yaml, skill.yml or skill.json.', hint: 'Add skill.yaml.', requirement: 'SK-01' },
  'manifest-several': { strict: 'warning', lenient: 'warning', title: 'more than one manifest', why: 'skill.yaml counts before skill.yml before skill.json.', hint: 'Keep one.', requirement: 'SK-01' },
  'manifest-json': { strict: 'error', lenient: 'error', title: 'a skill.json that is not JSON', why: '', hint: 'Correct it.', requirement: 'SK-01' },
  'instructions-missing': { strict: 'warning', lenient: 'warning', title: 'no SKILL.md beside the manifest', why: 'The agent gets no instructions.', hint: 'Add SKILL.md, or correct skillMdPath.', requirement: 'SK-01' },
  'instructions-outside': { strict: 'error', lenient: 'warning', title: 'a skillMdPath that leaves the skill', why: 'It is not read.', hint: 'Keep the file inside the folder.', requirement: 'SK-01' },
  'capabilities-missing': { strict: 'error', lenient: 'warning', title: 'no capabilities list', why: 'It is required; without it the skill has none.', hint: 'Add `capabilities: []` or list them.', requirement: 'SK-02' },
  'capabilities-empty': { strict: 'warning', lenient: 'warning', title: 'an empty capabilities list', why: '', hint: 'List what the skill uses, or ignore this if it uses nothing.', requirement: 'SK-02' },
  'capabilities-no-network': { strict: 'warning', lenient: 'warning', title: 'capabilities with network none', why: 'Without the broker they cannot be used.', hint: 'Set `container_network: broker-only`.', requirement: 'SK-02' },
  'capability-invalid': { strict: 'error', lenient: 'warning', title: 'a capability that is neither provider/endpoint nor custom/key', why: 'It grants nothing, and the skill does not run.', hint: 'Write provider/endpoint or custom/key.', requirement: 'SK-04' },
  'capability-wildcard': { strict: 'warning', lenient: 'warning', title: 'a wildcard capability', why: 'It asks for every endpoint of the provider.', hint: 'Name the endpoints.', requirement: 'SK-04' },
  'capability-unknown': { strict: 'warning', lenient: 'warning', title: 'a capability that no provider has', why: 'The run is refused until the operator adds a provider that has it.', hint: 'Check the spelling with `skillbox provider list`, or add the provider.', requirement: 'SK-04' },
  'capability-released': { strict: 'info', lenient: 'info', title: 'a secret for some host that the skill may get', why: 'Whoever holds a value can print it in a form that no scrubbing finds. Bound to hosts, it is put into requests and never released.', hint: 'Have the operator bind it: `skillbox secret set custom/KEY --host HOST`.', requirement: 'SK-10' },
  'manifest-version': { strict: 'error', lenient: 'warning', title: 'a manifest version other than 1', why: '', hint: 'Write `version: 1`.', requirement: 'SK-03' },

  // Clients
  'target-claude': { strict: 'warning', lenient: 'warning', title: 'a rule of Claude clients', why: '', hint: 'Change it if this client must load the skill.', requirement: 'AS-02' },
  'target-codex': { strict: 'warning', lenient: 'warning', title: 'a rule of Codex', why: '', hint: 'Change it if this client must load the skill.', requirement: 'AS-02' },
  'target-gemini': { strict: 'warning', lenient: 'warning', title: 'a rule of Gemini CLI', why: '', hint: 'Change it if this client must load the skill.', requirement: 'AS-02' },
  'target-vscode': { strict: 'warning', lenient: 'warning', title: 'a rule of VS Code', why: '', hint: 'Change it if this client must load the skill.', requirement: 'AS-02' },
  'target-spec': { strict: 'warning', lenient: 'warning', title: 'a rule of the published specification', why: '', hint: 'Change it if this client must load the skill.', requirement: 'AS-02' },
} as const satisfies Record<string, CodeEntry>;

export type DiagnosticCode = keyof typeof CODES;
