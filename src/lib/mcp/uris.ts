const prefix = 'artefact://sha256/'
const hexForm = /^[0-9a-f]{64}$/
const uriForm = /^artefact:\/\/sha256\/([0-9a-f]{64})(?:\?[^#]*)?$/

/** 64 lower-case hexadecimal digits: the only name an artefact has, on the wire and on disk. */
export function isArtefactHex(text: string): boolean {
  return hexForm.test(text)
}

export function artefactUri(hex: string): string {
  return prefix + hex
}

/** The hash inside `artefact://sha256/<hex>`; a query is ignored. Null for any other form. */
export function parseArtefactUri(uri: string): string | null {
  return uriForm.exec(uri)?.[1] ?? null
}

/** The scheme of a URI of resources, without `:`; lower case, so that one has one spelling. */
export function isScheme(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]{0,63}$/.test(value)
}
