const hexForm = /^[0-9a-f]{64}$/
const uriForm = /^artefact:\/\/sha256\/([0-9a-f]{64})(?:\?[^#]*)?$/

/** True for 64 lower-case hexadecimal digits: the name of an artefact on the wire and on disk. */
export function isArtefactHex(text: string): boolean {
  return hexForm.test(text)
}

export function artefactUri(hex: string): string {
  return `artefact://sha256/${hex}`
}

/** The hash in `artefact://sha256/<hex>`, ignoring a query. Null for any other URI. */
export function parseArtefactUri(uri: string): string | null {
  return uriForm.exec(uri)?.[1] ?? null
}
