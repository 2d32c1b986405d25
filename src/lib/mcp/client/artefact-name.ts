import { ServiceError } from '../../util/errors.ts'
import { artefactUri, isArtefactHex } from '../artefact-uri.ts'
import { completeTemplate } from './resources.ts'
import type { McpSession } from './session.ts'

/** Fewer digits name by accident. */
const minChars = 4

/** The digits of `artefact://sha256/<hex>`, `sha256:<hex>` or `<hex>`, whole or their beginning. */
export function parseArtefactWord(word: string): string | null {
  const digits = word.replace(/^artefact:\/\/sha256\/|^sha256:/, '')
  return digits.length >= minChars && /^[0-9a-f]{1,64}$/.test(digits) ? digits : null
}

/** The artefact that a word of the user names. Rejects with `ServiceError`. */
export async function resolveArtefact(
  word: string,
  session: () => Promise<McpSession>,
  signal: AbortSignal,
): Promise<string> {
  const digits = parseArtefactWord(word)
  if (digits === null) {
    throw new ServiceError('usage_invalid', `${word} names no artefact`, {
      hint: `a URI, or at least ${minChars} leading characters of the SHA-256 in lower case`,
    })
  }
  if (digits.length === 64) return digits
  const wanted = { uri: artefactUri('{hex}'), name: 'hex', value: digits }
  const { values } = await completeTemplate(await session(), wanted, signal)
  const found = values.filter(value => isArtefactHex(value) && value.startsWith(digits))
  const [only, ...others] = found
  if (only === undefined) throw notStored(digits)
  if (others.length === 0) return only
  const some = found.slice(0, 5).map(hex => hex.slice(0, digits.length + 8))
  throw new ServiceError('usage_invalid', `several artefacts begin with ${digits}`, {
    hint: `write more of it: ${some.join(', ')}${found.length > some.length ? ', …' : ''}`,
  })
}

export function notStored(hex: string): ServiceError {
  return new ServiceError('resource_not_found', `no artefact ${hex} is stored`, {
    hint: 'service-cli artefacts list shows them',
  })
}
