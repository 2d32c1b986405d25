import type { AuthRefused } from './authentication.ts'

/** The `WWW-Authenticate` value of a refusal (RFC 6750, section 3; RFC 9728, section 5.1). */
export function challenge(refused: AuthRefused): string {
  const { error, description, scope, resourceMetadata } = refused
  const parameters: [string, string | undefined][] = [
    ['realm', 'service-cli'],
    ['error', error],
    ['error_description', description],
    ['scope', scope],
    ['resource_metadata', resourceMetadata],
  ]
  const written = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return `Bearer ${written.join(', ')}`
}

/** Node refuses to send other characters, and clients read the quotes without escapes. */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?')
}
