import type { YamlProblem as AnyProblem } from '../base/index.ts';
import type { DiagnosticCode } from '../skill/index.ts';

export {
  parseYaml,
  type YamlEntry,
  type YamlMap,
  type YamlNode,
  type YamlResult,
  yamlToJson as toJson,
} from '../base/index.ts';

/** As repair finds them too, which knows more codes than the parser. */
export type YamlProblem = AnyProblem<DiagnosticCode>;
