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
  InvalidSymbol: 'has a word or sign that JSON does not know',
  PropertyNameExpected: 'has no name in double quotes before a colon',
  UnexpectedEndOfComment: 'has an unterminated comment',
  UnexpectedEndOfString: 'has an unterminated string',
}

/** Why a text that `JSON.parse` refuses is no JSON, and where. */
export function jsonFault(text: string): string {
  const { what, line, column } = findFault(text, 'json')!
  return `it ${what} (line ${line}, column ${column})`
}

/** What is wrong with the text; null: nothing. It recurses, so check the depth before. */
export function findFault(text: string, dialect: JsonDialect): JsonFault | null {
  let first = null as JsonFault | null
  const onError = (
    error: ParseErrorCode,
    offset: number,
    _: number,
    line: number,
    column: number,
  ) => {
    const what = faultAt(text, offset, printParseErrorCode(error))
    first ??= { what, line: line + 1, column: column + 1 }
  }
  const isPlain = dialect === 'json'
  visit(text, { onError }, { disallowComments: isPlain, allowTrailingComma: !isPlain })
  return first
}

function faultAt(text: string, offset: number, code: string): string {
  if (offset >= text.length) return 'ends too early'
  const isClosed = text[offset] === '}' || text[offset] === ']'
  if (isClosed && text.slice(0, offset).trimEnd().endsWith(',')) {
    return 'has a trailing comma before a closing bracket'
  }
  return faults[code] ?? 'has an invalid value'
}
