import { isJsonObject, type JsonObject, parseJson } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'

/** A well-formed token, not verified yet. */
interface TokenForm {
  readonly alg: string
  /** Absent: exactly one key of the provider must match. */
  readonly kid: string | undefined
  readonly claims: JsonObject
}

/** Only asymmetric algorithms. */
const acceptedAlgorithms: ReadonlySet<string> = new Set(
  'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'.split(' '),
)

const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const accessTokenTypes = ['at+jwt', 'application/at+jwt']
/** Members of ID tokens and logout tokens. */
const identityMembers = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events']
/** Members with a key in the token, or its address. */
const keyMembers = ['jwk', 'jku', 'x5u', 'x5c']
const maxDepth = 16
const maxKidChars = 512

/**
 * Parses a token without verifying it. Accepts only the canonical encoding: no white space, no
 * padding, no spare bits.
 */
export function readToken(
  token: string,
  { maxAccessTokenChars }: { maxAccessTokenChars: number },
): Result<TokenForm, string> {
  if (token.length > maxAccessTokenChars) return fail('the token is too long')
  if (!compactForm.test(token)) {
    return fail('the token is not a signed JWT; opaque and encrypted tokens are not supported')
  }
  const [head = '', body = '', signature = ''] = token.split('.')
  const headBytes = decode(head)
  const bodyBytes = decode(body)
  if (headBytes === null || bodyBytes === null || decode(signature) === null) {
    return fail('the token is not in canonical base64url')
  }
  const header = parseObject(headBytes)
  if (header === null) return fail('the header of the token is not a JSON object')
  const claims = parseObject(bodyBytes)
  if (claims === null) return fail('the claims of the token are not a JSON object')

  const { alg, kid, typ } = header
  if (typeof alg !== 'string' || !acceptedAlgorithms.has(alg)) {
    return fail('the token is not signed with an accepted algorithm')
  }
  if ('crit' in header) return fail('the token requires an unknown extension (crit)')
  if (keyMembers.some(member => member in header)) {
    return fail('the token contains a key: only keys of the provider are used')
  }
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > maxKidChars)) {
    return fail('the token has an invalid key id (kid)')
  }
  if (typeof typ !== 'string' || !accessTokenTypes.includes(typ.toLowerCase())) {
    return fail('the token is not marked as an access token (typ "at+jwt")')
  }
  if (identityMembers.some(member => member in claims)) {
    return fail('the token is not an access token')
  }
  return ok({ alg, kid, claims })
}

/** Decodes base64url; null when the encoding is not canonical. */
function decode(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : null
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parseObject(bytes: Buffer): JsonObject | null {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return null
  }
  const parsed = parseJson(text, maxDepth)
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : null
}
