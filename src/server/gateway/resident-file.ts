import { constants } from 'node:fs'
import { open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../../lib/util/errno.ts'
import { noFollow, noWait, ownUid } from '../../lib/util/posix.ts'
import { maxResidentBytes, parseResident, type Resident, residentJson } from './resident.ts'

/** Files that are read: many were killed before that many are there. */
const maxListed = 256

/**
 * What the gateway on a port wrote of itself into the folder that only this user can change: proof
 * of which process it is, also while it answers nobody. Removed by a gateway that yields, left by
 * one that dies.
 */
export function residentFile(registryDir: string, port: number): string {
  return join(registryDir, `gateway-${port}.json`)
}

export async function writeResidentFile(path: string, resident: Resident): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await writeFile(temporary, `${JSON.stringify(residentJson(resident))}\n`, { mode: 0o600 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

/** Null where there is none of this user, or none that can be understood. */
export async function readResidentFile(path: string): Promise<Resident | null> {
  try {
    const file = await open(path, constants.O_RDONLY | noFollow | noWait)
    try {
      const found = await file.stat()
      const uid = ownUid()
      if (!found.isFile() || found.size > maxResidentBytes) return null
      if (uid !== null && found.uid !== uid) return null
      return parseResident(await file.readFile('utf8'))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === null) throw error
    return null
  }
}

const fileName = /^gateway-(\d{1,5})\.json$/

/** Everybody who wrote itself down in the folder, by port; those that were killed, too. */
export async function listResidents(
  registryDir: string,
): Promise<{ readonly port: number; readonly written: Resident }[]> {
  const names = await readdir(registryDir).catch(() => [])
  const ports = names.flatMap(name => (fileName.exec(name)?.slice(1) ?? []).map(Number))
  const found = []
  for (const port of ports.toSorted((a, b) => a - b).slice(0, maxListed)) {
    const written = await readResidentFile(residentFile(registryDir, port))
    if (written !== null) found.push({ port, written })
  }
  return found
}

/** Only its own: the port may have a new gateway. */
export async function removeResidentFile(path: string, instanceId: string): Promise<void> {
  const found = await readResidentFile(path)
  if (found?.instanceId === instanceId) await rm(path, { force: true }).catch(() => {})
}
