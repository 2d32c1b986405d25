import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'

interface JsonFault {
  readonly what: string
  readonly line: number
  readonly column: number
}

/** `jsonc` is JSON with comments and trailing commas. */
type JsonDialect = 'json' | 'jsonc'

const faults: Readonly<Record<string, string>> = {
  CloseBraceExpected: 'has neither a comma nor }',
  CloseBracketExpected: 'has neither a comma nor ]',
  ColonExpected: 'has no colon after a name',
  CommaExpected: 'has no comma after a value',
  EndOfFileExpected: 'has text after its end',
  InvalidCommentToken: 'has a comment, which JSON does not allow',
  PropertyNameExpected: 'has no name in double quotes before a colon',
  UnexpectedEndOfComment: 'has an unterminated comment',
  UnexpectedEndOfString: 'has an unterminated string',
}

/** What other languages write. Any other word stays unsaid: in settings it may be a key. */
const foreign = /^(?:NaN|-?Infinity|True|False|None|undefined)\b/

/** Why a text that `JSON.parse` refuses is no JSON, and where. */
export function jsonFault(text: string): string {
  const { what, line, column } = findFault(text, 'json') ?? faultAt(text, 0, 'has an invalid value')
  return `it ${what} (line ${line}, column ${column})`
}

/** What is wrong with the text; null: nothing. It recurses, so check the depth before. */
export function findFault(text: string, dialect: JsonDialect): JsonFault | null {
  let first = null as JsonFault | null
  const onError = (error: ParseErrorCode, offset: number) => {
    first ??= describe(text, printParseErrorCode(error), offset)
  }
  const isPlain = dialect === 'json'
  visit(text, { onError }, { disallowComments: isPlain, allowTrailingComma: !isPlain })
  return first
}

function describe(text: string, code: string, offset: number): JsonFault {
  const before = text.slice(0, offset).trimEnd()
  if (/[\]}]/.test(text.charAt(offset)) && before.endsWith(',')) {
    return faultAt(text, before.length - 1, 'has a trailing comma')
  }
  const next = text.slice(offset, offset + 200)
  if (code === 'ValueExpected' && next === '') return faultAt(text, offset, 'ends too early')
  const [word] = foreign.exec(next) ?? []
  if (word !== undefined) return faultAt(text, offset, `has ${word}, which JSON does not allow`)
  const isName = code === 'InvalidSymbol' && /^[^\s:]+\s*:/.test(next)
  const what = isName ? faults.PropertyNameExpected : faults[code]
  return faultAt(text, offset, what ?? 'has an invalid value')
}

function faultAt(text: string, offset: number, what: string): JsonFault {
  let [line, start] = [1, 0]
  // Not split: there may be millions of lines.
  for (let at = 0; at < offset; at++) {
    const char = text[at]
    if (char !== '\n' && (char !== '\r' || text[at + 1] === '\n')) continue
    line++
    start = at + 1
  }
  return { what, line, column: offset - start + 1 }
}
