import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Capture } from '../../../src/server/capture/backend.ts'
import { until } from '../../helpers/until.ts'
import { skipBecause } from '../../helpers/skip.ts'

const run = promisify(execFile)

/** What the tests of pictures need; Debian packages in brackets. */
const tools: Readonly<Record<string, string>> = {
  Xvfb: 'xvfb',
  openbox: 'openbox',
  xcompmgr: 'xcompmgr',
  xdotool: 'xdotool',
  xprop: 'x11-utils',
  xlogo: 'x11-apps',
  import: 'imagemagick',
  compare: 'imagemagick',
}

export function needDisplayTools(context: Mocha.Context): void {
  for (const [tool, debian] of Object.entries(tools)) {
    if (spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0) {
      skipBecause(context, `${tool} is not installed (Debian: apt-get install ${debian})`)
    }
  }
}

/** An X display of its own, with what is started on it. */
export class Desktop {
  readonly env: Record<string, string>
  readonly #started: ChildProcess[]
  /** Nothing a person has set up may change what is tested. */
  readonly #home = mkdtempSync(join(tmpdir(), 'service-cli-desktop-'))

  private constructor(server: ChildProcess, number: string) {
    this.#started = [server]
    const { PATH = '' } = process.env
    this.env = { PATH, HOME: this.#home, DISPLAY: `:${number}` }
  }

  /** `size` as in 1280x800x24: width, height and bits a pixel. */
  static async start(size: string, ...more: string[]): Promise<Desktop> {
    // Without -noreset it starts anew, and sends all away, whenever nobody is there for a moment.
    const args = ['-displayfd', '3', '-screen', '0', size, '-nolisten', 'tcp', '-noreset', ...more]
    const server = spawn('Xvfb', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
    const [number] = (await once(server.stdio[3] as Readable, 'data')) as [Buffer]
    return new Desktop(server, String(number).trim())
  }

  start(command: string, ...args: string[]): ChildProcess {
    const child = spawn(command, args, { env: this.env, stdio: 'ignore' })
    this.#started.push(child)
    return child
  }

  async run(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(command, args, { env: this.env, timeout: 30_000 })
    return stdout
  }

  async withWindowManager(): Promise<void> {
    this.start('openbox')
    await eventually(async () => {
      // What it sets last: before that a window that comes may be overlooked.
      const said = await this.run('xprop', '-root', '_NET_CLIENT_LIST_STACKING')
      return said.includes('window id')
    }, 'a window manager')
  }

  /** Nothing but the selection tells that it runs, so a picture is asked until it is there. */
  startCompositor(): ChildProcess {
    return this.start('xcompmgr')
  }

  /** The id of the window of a program that was just started, once it is on the screen. */
  async windowOf(title: string): Promise<string> {
    let id = ''
    await eventually(async () => {
      const found = await this.run('xdotool', 'search', '--onlyvisible', '--name', `^${title}$`)
      id = found.trim().split('\n').at(-1) ?? ''
      // Without an id it would wait for a person to click on one.
      if (id === '') return false
      return (await this.run('xprop', '-id', id, 'WM_STATE')).includes('Normal')
    }, `the window ${title}`)
    return id
  }

  /** Programs of the X project do not tell their process; others do. */
  async tellProcess(id: string, pid: number | undefined): Promise<void> {
    await this.run('xprop', '-id', id, '-f', '_NET_WM_PID', '32c', '-set', '_NET_WM_PID', `${pid}`)
  }

  /** Programs of the X project set only the older name of a window; others set this one. */
  async tellTitle(id: string, title: string): Promise<void> {
    await this.run('xprop', '-id', id, '-f', '_NET_WM_NAME', '8u', '-set', '_NET_WM_NAME', title)
  }

  /** A program with one window, which tells its process. */
  async program(name: string, geometry: string): Promise<Program> {
    return this.#titled(this.start('xlogo', '-title', name, '-geometry', geometry), name)
  }

  /** A picture file in a window of its size. */
  async shown(name: string, geometry: string, ...picture: string[]): Promise<Program> {
    const args = ['-title', name, '-geometry', geometry, ...picture]
    return this.#titled(this.start('display', ...args), name)
  }

  async #titled(child: ChildProcess, name: string): Promise<Program> {
    const id = await this.windowOf(name)
    await this.tellProcess(id, child.pid)
    await this.tellTitle(id, name)
    return { child, pid: child.pid ?? 0, id }
  }

  /** In the order in which they were started, the display last. */
  async stop(): Promise<void> {
    for (const child of this.#started.splice(0).reverse()) await end(child)
    rmSync(this.#home, { recursive: true, force: true })
  }

  async end(child: ChildProcess): Promise<void> {
    this.#started.splice(this.#started.indexOf(child), 1)
    await end(child)
  }
}

export interface Program {
  readonly child: ChildProcess
  readonly pid: number
  readonly id: string
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill()
  await exited
}

/** Until it holds; what asks a program that is only starting may fail. */
export function eventually(holds: () => Promise<boolean>, what: string): Promise<void> {
  return until(() => holds().catch(() => false), what, 20_000)
}

/** How many pixels differ between a picture and the one that ImageMagick takes of the window. */
export async function differingPixels(
  desktop: Desktop,
  { png }: Capture,
  window: string,
  folder: string,
): Promise<number> {
  const [ours, theirs] = [join(folder, 'ours.png'), join(folder, 'theirs.png')]
  await writeFile(ours, png)
  await desktop.run('import', '-silent', '-window', window, theirs)
  return differing(ours, theirs)
}

/** How many pixels differ. `compare` tells it on the error output, and exits with 1 when there is a difference. */
export function differing(one: string, other: string): number {
  const { status, stderr } = spawnSync('compare', ['-metric', 'AE', one, other, 'null:'], {
    encoding: 'utf8',
  })
  if (status !== 0 && status !== 1) throw new Error(`compare: ${stderr}`)
  return Number(stderr.trim().split(' ')[0])
}
