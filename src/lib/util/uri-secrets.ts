import { isSensitiveName } from './sensitive-name.ts'

/** The URI for a log: values of parameters named like a secret, and a user's name, are hidden. */
export function withoutSecrets(uri: string): string {
  const [address = '', ...queries] = uri.split('?')
  const shown = address.replace(/^([^/]*:\/\/)[^/]*@/, '$1')
  if (queries.length === 0) return shown
  const [query = '', ...fragments] = queries.join('?').split('#')
  const parts = query.split('&').map(part => {
    const [name = ''] = part.split('=', 1)
    return name !== part && isSensitiveName(decoded(name)) ? `${name}=[redacted]` : part
  })
  return [`${shown}?${parts.join('&')}`, ...fragments].join('#')
}

/** What cannot be decoded is judged as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
