import { cleanLines, cleanText, jsonLine } from '../../lib/util/text.ts'
import { extensionOf, safeFileName } from '../../lib/cli/file-name.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'
import { type Output, writeStdout } from '../../lib/cli/output.ts'
import { freeName, writeOutputFile } from '../../lib/cli/output-file.ts'
import { sizeText } from '../../lib/util/amounts.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { parseJson } from '../../lib/util/json.ts'
import type { Contents } from '../../lib/mcp/client/ask.ts'
import { isJsonType, readResource, staleReason } from '../../lib/mcp/client/resources.ts'
import { isPast } from '../../lib/mcp/unconfirmed.ts'
import { usage } from '../../lib/util/errors.ts'
import { type ClientFlags, withSession } from './client.ts'
import { checkUri, withNearest } from './uri-argument.ts'

interface ReadFlags extends ClientFlags {
  out?: string
  force: boolean
}

const maxDepth = 200

/** Prints the contents of a resource, or saves them. */
export async function runRead(
  uri: string,
  flags: ReadFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  checkUri(uri)
  const { json, out } = flags
  if (json && out !== undefined) {
    throw usage('--json and --out cannot be used together', 'redirect stdout to a file')
  }
  await withSession(flags, env, async (session, client, signal) => {
    try {
      const { contents, raw } = await readResource(session, uri, signal)
      if (json) return await writeStdout(jsonLine(raw))
      await show(contents, { ...flags, output: client.output })
      for (const one of isPast(uri) ? [] : contents) {
        const stale = one.kind === 'text' ? staleReason(one.meta) : null
        if (stale !== null) client.output.note(cleanText(stale, 200))
      }
    } catch (error) {
      throw await withNearest(error, uri, session, client)
    }
  })
}

interface ShowOptions {
  readonly out?: string
  readonly force: boolean
  readonly output: Output
}

async function show(
  contents: readonly Contents[],
  { out, force, output }: ShowOptions,
): Promise<void> {
  const screen = process.stdout.isTTY
  if (out !== undefined && out !== '-') {
    await writeOutputFile(out, Buffer.concat(contents.map(bytesOf)), { force })
    return output.note(`saved ${describe(contents)} to ${out}`)
  }
  if (out === '-' && screen && contents.some(({ kind }) => kind === 'binary')) {
    throw usage('binary contents are not written to a terminal', 'redirect stdout, or name a file')
  }
  for (const one of contents) {
    if (one.kind === 'text') await writeStdout(screen ? screenText(one) : one.text)
    else if (!screen || out === '-') await writeStdout(one.bytes)
    else {
      const file = await freeName(nameOfUri(one.uri, one.mimeType))
      await writeOutputFile(file, one.bytes, { force: false })
      output.note(`saved ${describe([one])} to ${file}`)
    }
  }
}

/** Removes control characters: text from a server must not change the terminal. */
function screenText({ text, mimeType }: Contents & { kind: 'text' }): string {
  const isJson = isJsonType(mimeType) && parseJson(text, maxDepth).ok
  const clean = cleanLines(isJson ? prettyJson(text) : text)
  return clean.endsWith('\n') || clean === '' ? clean : `${clean}\n`
}

/** Arrays and objects of at most this many characters stay on one line. */
const maxLineChars = 72

/** Numbers stay as they were written. */
function prettyJson(json: string): string {
  // The innermost ones: a line break in a string is escaped.
  return JSON.stringify(parseExact(json), null, 2).replace(/[[{]\n[^[\]{}]*[\]}]/g, found => {
    const line = found.replace(/\n */g, ' ').replace(/^\[ | \]$/g, edge => edge.trim())
    return line.length > maxLineChars ? found : line
  })
}

function bytesOf(one: Contents): Buffer {
  return one.kind === 'text' ? Buffer.from(one.text) : one.bytes
}

function describe(contents: readonly Contents[]): string {
  const bytes = contents.reduce((sum, one) => sum + bytesOf(one).length, 0)
  return `${sizeText(bytes)} of ${cleanText(contents[0]?.mimeType ?? 'data', 80)}`
}

/** `camera.png` for `capture://camera`, `3fa1b2c4d5e6.png` for an artefact. */
export function nameOfUri(uri: string, mimeType: string | null): string {
  const path = uri.split(/[?#]/, 1)[0] ?? ''
  const last = path.split('/').findLast(part => part !== '' && !part.endsWith(':')) ?? ''
  const short = isArtefactHex(last) ? last.slice(0, 12) : decoded(last)
  const name = safeFileName(short) ?? 'resource'
  return /\.[a-z0-9]{1,8}$/i.test(name) ? name : `${name}${extensionOf(mimeType)}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
