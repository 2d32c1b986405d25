/**
 * Is a member of this name likely to hold a secret? Names are taken apart into words
 * (`apiKey`, `api_key`, `X-Api-Key`), so that `keyframe`, `key_frame` and `monkey` stay.
 */
export function isSensitiveName(name: string): boolean {
  if (!mayBeSensitive.test(name)) return false
  const words = wordsOf(name)
  if (holdsSecretWord(words) || words.some(word => tokenCompound.test(word))) return true
  while (carriers.has(words.at(-1) ?? '')) words.pop()
  const last = words.at(-1) ?? ''
  // In these applications plain `keys` are those of an animation curve.
  if (last === 'keys') return keyOwners.has(words.at(-2) ?? '')
  return last === 'key' || last === 'token' || last === 'tokens'
}

/**
 * Returns whether the member is likely a secret. Numbers and booleans under amount names
 * (`max_tokens`, `tokens`) are not. Every value under `password`, `secret` and `api_key` is, also
 * with a bound before the name (`max_password`) and in the plural.
 */
export function isSecretMember(name: string, value: unknown): boolean {
  if (value === undefined || !isSensitiveName(name)) return false
  const isAmount = typeof value === 'number' || typeof value === 'boolean'
  return !(isAmount && amountName.test(name) && !namesSecret(wordsOf(name)))
}

/** A replacer for `JSON.stringify` that hides members by their name and type. */
export function redactMember(name: string, value: unknown): unknown {
  return isSecretMember(name, value) ? '[redacted]' : value
}

function wordsOf(name: string): string[] {
  return name
    .split(camelHumps)
    .join(' ')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(word => word !== '')
}

function holdsSecretWord(words: readonly string[]): boolean {
  return words.some(word => secretWords.has(word) || secretCompound.test(word))
}

/** Passwords, secrets and API keys, which are not counted. */
function namesSecret(words: readonly string[]): boolean {
  const isOwnedKey = (word: string, at: number): boolean =>
    /^keys?$/.test(word) && keyOwners.has(words[at - 1] ?? '')
  return holdsSecretWord(words) || words.some(isOwnedKey)
}

/** Tokens and keys are counted in the plural, or with a word for a bound before them. */
const amountName = /(?:token|key)s$|^(?:max|min|num|total|count)(?:[^a-z]|(?-i:(?=[A-Z])))/i

const mayBeSensitive = /pass|pwd|token|secret|key|auth|cookie|credential/i
const camelHumps = /(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
/** Written without any border between the words. */
const secretCompound =
  /(?:[a-z](?:password|passwd|secret|cookie)|(?:api|access|private|secret|signing|auth)key)s?$/
const tokenCompound = /[a-z]tokens?$/
const secretWords = new Set([
  'password',
  'passwords',
  'passwd',
  'pwd',
  'passphrase',
  'secret',
  'secrets',
  'authorization',
  'cookie',
  'cookies',
  'credential',
  'credentials',
])
const carriers = new Set(['value', 'text', 'string', 'header'])
const keyOwners = new Set(['api', 'access', 'private', 'secret', 'signing', 'encryption', 'ssh'])
