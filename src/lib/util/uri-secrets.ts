import { isSensitiveName } from './sensitive-name.ts'

/**
 * Returns the URI for a log: without user information and fragment, and with the values of
 * parameters named like a secret hidden.
 */
export function withoutSecrets(uri: string): string {
  const [whole = ''] = uri.split('#', 1)
  const [address = '', ...queries] = whole.split('?')
  const shown = address.replace(/^([^/:]*:\/*)[^/]*@/, '$1')
  if (queries.length === 0) return shown
  return `${shown}?${queries.join('?').split('&').map(shownParameters).join('&')}`
}

/**
 * Some servers separate parameters by `;` too. What follows a secret may be a part of it, so it is
 * hidden with it.
 */
function shownParameters(text: string): string {
  const parts = text.split(';')
  const at = parts.findIndex(part => part.includes('=') && isSecretParameter(nameOf(part)))
  if (at === -1) return text
  return [...parts.slice(0, at), `${nameOf(parts[at] ?? '')}=[redacted]`].join(';')
}

function isSecretParameter(name: string): boolean {
  const plain = decoded(name)
  return isSensitiveName(plain) || credentialName.test(plain)
}

/** Signed addresses and OAuth redirects. `error_code` and `shot_code` are no credentials. */
const credentialName = /^code$|(?:^|[-_])(?:auth|jwt|sig|signature)$/i

function nameOf(parameter: string): string {
  return parameter.split('=', 1)[0] ?? ''
}

/** What cannot be decoded is judged as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
