import { createScanner, type Node, parseTree } from 'jsonc-parser'
import { faultAt, findFault, type JsonDialect, type JsonFault } from '../json-fault.ts'
import { type Result, fail, ok } from '../../util/result.ts'

const maxDepth = 128

/** Parses one value; its nodes have offsets in `text`, which must not start with a BOM. */
export function parseJsonText(text: string, dialect: JsonDialect): Result<Node, JsonFault> {
  const deepAt = offsetBeyondDepth(text)
  if (deepAt !== null) {
    return fail(faultAt(text, deepAt, `nests deeper than ${maxDepth} levels`))
  }
  const fault = findFault(text, dialect)
  return fault === null
    ? ok(parseTree(text, [], { allowTrailingComma: true }) as Node)
    : fail(fault)
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
