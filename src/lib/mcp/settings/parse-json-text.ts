import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { type Result, fail, ok } from '../../util/result.ts'

export interface JsonFault {
  readonly what: string
  readonly line: number
  readonly column: number
}

/** `jsonc` is JSON with comments and trailing commas. */
export type JsonDialect = 'json' | 'jsonc'

const maxDepth = 128

const faults: Readonly<Record<string, string>> = {
  CloseBraceExpected: 'has neither a comma nor }',
  CloseBracketExpected: 'has neither a comma nor ]',
  ColonExpected: 'has no colon after a name',
  CommaExpected: 'has no comma after a value',
  EndOfFileExpected: 'has text after its end',
  InvalidCommentToken: 'has a comment, which JSON does not allow',
  PropertyNameExpected: 'has no name before a colon',
  UnexpectedEndOfComment: 'has an unterminated comment',
  UnexpectedEndOfString: 'has an unterminated string',
}

/** Parses one value; its nodes have offsets in `text`, which must not start with a BOM. */
export function parseJsonText(text: string, dialect: JsonDialect): Result<Node, JsonFault> {
  const deepAt = offsetBeyondDepth(text)
  if (deepAt !== null) return faultAt(text, deepAt, `nests deeper than ${maxDepth} levels`)
  const errors: ParseError[] = []
  const root = parseTree(text, errors, {
    disallowComments: dialect === 'json',
    allowTrailingComma: dialect === 'jsonc',
  })
  const [first, second] = errors
  if (root !== undefined && first === undefined) return ok(root)
  const offset = first?.offset ?? 0
  const before = text.slice(0, offset).trimEnd()
  if (/[\]}]/.test(text.charAt(offset)) && before.endsWith(',')) {
    return faultAt(text, before.length - 1, 'has a trailing comma')
  }
  // The parser skips an unknown word; the next error says what should stand there.
  const code = codeOf(first) === 'InvalidSymbol' ? codeOf(second) : codeOf(first)
  return faultAt(text, offset, faults[code] ?? 'has an invalid value')
}

function codeOf(error: ParseError | undefined): string {
  return error === undefined ? '' : printParseErrorCode(error.error)
}

/** The parser recurses, so the depth is checked before. */
function offsetBeyondDepth(text: string): number | null {
  const scanner = createScanner(text, true)
  let depth = 0
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const token = text.charAt(scanner.getTokenOffset())
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    if (depth > maxDepth) return scanner.getTokenOffset()
  }
  return null
}

function faultAt(text: string, offset: number, what: string): Result<never, JsonFault> {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/)
  return fail({ what, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 })
}
