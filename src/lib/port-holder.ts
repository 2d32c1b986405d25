import { readFile, readdir, readlink } from 'node:fs/promises'

export interface PortHolder {
  readonly pid: number
  /** The command line, shortened. */
  readonly command: string
}

/** Processes looked at before giving up. */
const maxProcesses = 4096
const maxCommandChars = 60

/**
 * The process that listens on a local TCP port; null when it cannot be found (another user's
 * process, another operating system than Linux).
 */
export async function findPortHolder(port: number): Promise<PortHolder | null> {
  if (process.platform !== 'linux') return null
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readText))
  const inodes = new Set(tables.flatMap(table => listeningInodes(table, port)))
  if (inodes.size === 0) return null
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  for (const pid of pids.slice(-maxProcesses)) {
    if (!(await holdsSocket(pid, inodes))) continue
    return { pid: Number(pid), command: commandLine(await readText(`/proc/${pid}/cmdline`)) }
  }
  return null
}

/** Socket inodes of the sockets listening on `port`, from a table in the form of /proc/net/tcp. */
export function listeningInodes(table: string, port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(wanted) && state === '0A')
    .flatMap(columns => columns[9] ?? [])
}

async function holdsSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const target = await readlink(`${folder}/${name}`).catch(() => '')
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
    if (inode !== undefined && inodes.has(inode)) return true
  }
  return false
}

function commandLine(raw: string): string {
  const words = raw.split('\0').filter(word => word !== '')
  const text = words.join(' ').replace(/[\x00-\x1f\x7f-\x9f]/g, '?')
  return text.length > maxCommandChars ? `${text.slice(0, maxCommandChars)}…` : text
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
