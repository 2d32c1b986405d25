import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'

/** Why a text that `JSON.parse` refuses is no JSON, and where. */
export function jsonFault(text: string): string {
  const { what, line, column } = findFault(text, 'json')!
  return `${what} (line ${line}, column ${column})`
}

/**
 * What is wrong with the text; null: nothing. `jsonc` is JSON with comments and trailing commas. It
 * recurses, so check the depth before.
 */
export function findFault(text: string, dialect: 'json' | 'jsonc') {
  let first = null as { what: string; line: number; column: number } | null
  const isPlain = dialect === 'json'
  visit(
    text,
    {
      onError(error, offset, _, line, column) {
        first ??= { what: faultAt(text, offset, error), line: line + 1, column: column + 1 }
      },
    },
    { disallowComments: isPlain, allowTrailingComma: !isPlain },
  )
  return first
}

function faultAt(text: string, offset: number, error: ParseErrorCode): string {
  if (offset >= text.length) return 'unexpected end'
  const isClosed = text[offset] === '}' || text[offset] === ']'
  if (isClosed && text.slice(0, offset).trimEnd().endsWith(',')) return 'trailing comma'
  // "invalid symbol", "comma expected"
  return printParseErrorCode(error)
    .replaceAll(/(?<=.)[A-Z]/g, ' $&')
    .toLowerCase()
}
