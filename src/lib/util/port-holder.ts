import { readFile, readdir, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { cleanText } from './clean-text.ts'

export interface PortHolder {
  readonly pid: number
  /** Its name, without arguments: any of them may be a secret. */
  readonly program: string
}

/** Processes looked at before giving up. */
const maxProcesses = 4096
const maxProgramChars = 60
const interpreter = /^(node|python[\d.]*|ruby|perl|java|bun|deno|sh|bash)$/

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
    return { pid: Number(pid), program: programName(await readText(`/proc/${pid}/cmdline`)) }
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

/** From the words of `/proc/<pid>/cmdline`: the program, or what its interpreter runs. */
export function programName(commandLine: string): string {
  // A program that names itself (`process.title`) leaves one text with spaces.
  const [program = '', ...words] = commandLine.split(/[\0 ]/)
  const name = basename(program)
  const script = words.find(word => word !== '' && !word.startsWith('-'))
  const shown =
    interpreter.test(name) && script !== undefined ? `${name} ${basename(script)}` : name
  return cleanText(shown, maxProgramChars) || 'a program without a name'
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
