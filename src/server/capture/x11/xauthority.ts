import type { DisplayName } from './display-name.ts'

/** An entry of a file of keys, Xau(3): who may speak to which display, and with which words. */
export interface DisplayKey {
  readonly family: number
  readonly address: Buffer
  readonly number: string
  readonly name: string
  readonly data: Buffer
}

const familyLocal = 256
const familyWild = 65_535
const cookie = 'MIT-MAGIC-COOKIE-1'

/** The entries up to the first that is damaged: what precedes it is still of use. */
export function parseXauthority(bytes: Buffer): DisplayKey[] {
  const keys: DisplayKey[] = []
  let at = 0
  const field = (): Buffer | null => {
    if (at + 2 > bytes.length) return null
    const end = at + 2 + bytes.readUInt16BE(at)
    if (end > bytes.length) return null
    const value = bytes.subarray(at + 2, end)
    at = end
    return value
  }
  while (at + 2 <= bytes.length) {
    const family = bytes.readUInt16BE(at)
    at += 2
    const [address, number, name, data] = [field(), field(), field(), field()]
    if (!address || !number || !name || !data) break
    keys.push({ family, address, number: String(number), name: String(name), data })
  }
  return keys
}

/** The key that Xlib would use: never one of another display or machine. */
export function chooseKey(
  keys: readonly DisplayKey[],
  display: DisplayName,
  hostname: string,
): DisplayKey | null {
  const fits = ({ family, address, number, name }: DisplayKey): boolean =>
    name === cookie &&
    (number === '' || number === String(display.number)) &&
    // Those of loopback addresses are kept under the name of the machine, too.
    (family === familyWild || (family === familyLocal && String(address) === hostname))
  return keys.find(fits) ?? null
}
