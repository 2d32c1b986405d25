/** A hash with everything needed to make it again, as the PHC string format writes it. */
export interface Argon2Hash {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly lanes: number
  readonly salt: Buffer
  readonly tag: Buffer
}

const form =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** What no stored hash may ask for: whoever could write one could stop the server with it. */
const maxMemory = 1024 * 1024

/** Null for what is no Argon2id hash, or one that would cost too much to check. */
export function parsePasswordHash(text: string): Argon2Hash | null {
  const [, m, t, p, salt = '', tag = ''] = form.exec(text) ?? []
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)]
  if (!(memory >= 8 * lanes) || memory > maxMemory || passes < 1 || passes > 100 || lanes < 1) {
    return null
  }
  return {
    memory,
    passes,
    lanes,
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

export function formatPasswordHash({ memory, passes, lanes, salt, tag }: Argon2Hash): string {
  const parameters = `m=${memory},t=${passes},p=${lanes}`
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
