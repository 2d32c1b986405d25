import { createScanner, type Node, parseTree } from 'jsonc-parser'

/** The formatting of the text, which additions follow. */
interface Layout {
  readonly text: string
  /** One level of indentation. */
  readonly unit: string
  readonly newline: string
}

/** Replaces `end - start` characters. */
interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Sets `value` at `path` in a valid JSON text and keeps every other byte. Null when a part of the
 * path is not an object.
 */
export function setMember(text: string, path: string[], value: unknown): string | null {
  const root = parse(text)
  if (root === undefined) return null
  const layout = layoutOf(text, root)
  let node = root
  for (const [depth, key] of path.entries()) {
    if (node.type !== 'object') return null
    const found = memberOf(node, key)
    if (found === undefined) {
      const below = path.slice(depth + 1).reduceRight((inner, name) => ({ [name]: inner }), value)
      return spliced(text, addition(layout, node, below, key))
    }
    node = found
  }
  const inner = render(value, layout, lineIndent(text, node.offset))
  return spliced(text, { start: node.offset, end: endOf(node), text: inner })
}

/** Like `setMember`, but appends an item to the array at `path`. */
export function appendItem(text: string, path: string[], value: unknown): string | null {
  const root = parse(text)
  const node = path.reduce((at, key) => at && memberOf(at, key), root)
  if (root === undefined || node === undefined) return setMember(text, path, [value])
  if (node.type !== 'array') return null
  return spliced(text, addition(layoutOf(text, root), node, value, null))
}

function parse(text: string): Node | undefined {
  return parseTree(text, [], { allowTrailingComma: true })
}

/** The last of duplicate members counts, as in `JSON.parse`. */
function memberOf(node: Node, key: string): Node | undefined {
  if (node.type !== 'object') return undefined
  return node.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1]
}

function addition(layout: Layout, into: Node, value: unknown, key: string | null): Splice {
  const { text, newline } = layout
  const name = key === null ? '' : `${JSON.stringify(key)}: `
  const [first] = into.children ?? []
  const last = into.children?.at(-1)
  if (last === undefined || first === undefined) return filling(layout, into, name, value)
  const end = endOf(last)
  const behindComma = trailingComma(text, end)
  if (!text.slice(into.offset, first.offset).includes('\n')) {
    const inline = `${name}${JSON.stringify(value)}`
    if (behindComma === null) return insertion(end, `, ${inline}`)
    return insertion(behindComma, ` ${inline},`)
  }
  const indent = lineIndent(text, first.offset)
  const line = `${newline}${indent}${name}${render(value, layout, indent)}`
  if (behindComma !== null) return insertion(endOfLineTrivia(text, behindComma), `${line},`)
  // The comma goes before a comment behind the last member, the new line after it.
  const behind = endOfLineTrivia(text, end)
  return { start: end, end: behind, text: `,${text.slice(end, behind)}${line}` }
}

/** Fills brackets that contain only space and comments. */
function filling(layout: Layout, into: Node, name: string, value: unknown): Splice {
  const { text, newline, unit } = layout
  const outer = lineIndent(text, into.offset)
  const indent = `${outer}${unit}`
  const inside = text.slice(into.offset + 1, endOf(into) - 1)
  const line = `${newline}${indent}${name}${render(value, layout, indent)}`
  const kept = inside.trimEnd()
  return { start: into.offset + 1, end: endOf(into) - 1, text: `${kept}${line}${newline}${outer}` }
}

function render(value: unknown, { unit, newline }: Layout, indent: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${newline}${indent}`)
}

/** The offset after the comma that follows `from`, or null. */
function trailingComma(text: string, from: number): number | null {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  scanner.scan()
  return text.charAt(scanner.getTokenOffset()) === ',' ? scanner.getPosition() : null
}

/** The end of the comments that begin on the same line. */
function endOfLineTrivia(text: string, from: number): number {
  const scanner = createScanner(text)
  scanner.setPosition(from)
  for (let end = from; ;) {
    scanner.scan()
    const token = text.slice(scanner.getTokenOffset(), scanner.getPosition())
    if (token.startsWith('/')) end = scanner.getPosition()
    else if (!/^[ \t]+$/.test(token)) return end
  }
}

function layoutOf(text: string, root: Node): Layout {
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n'
  const first = root.type === 'object' ? root.children?.[0] : undefined
  const indent = first === undefined ? '' : lineIndent(text, first.offset)
  return { text, newline, unit: indent === '' ? '  ' : indent }
}

/** The indentation of the line of `at`. */
function lineIndent(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? ''
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

function insertion(at: number, text: string): Splice {
  return { start: at, end: at, text }
}

function spliced(text: string, { start, end, text: inner }: Splice): string {
  return text.slice(0, start) + inner + text.slice(end)
}
