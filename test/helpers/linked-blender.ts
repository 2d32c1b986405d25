import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Serving, startServe } from '../clients/serve.ts'
import { until } from './until.ts'
import { hasPrograms, installAddon, type InstalledAddon } from './blender-addon.ts'
import { blenderModes } from './blender-modes.ts'
import { type Remote, startRemote } from './blender-remote.ts'
import { skipBecause } from './skip.ts'

/** A server, and a Blender with a window whose add-on is connected to it. */
export interface LinkedBlender {
  readonly addon: InstalledAddon
  readonly serving: Serving
  readonly blender: Remote
  stopServing(): Promise<unknown>
  /** A server of the same state directory and data folder. */
  serveAgain(): Promise<Serving>
  /** Ends all; throws when Blender failed. */
  stop(): Promise<void>
}

const linkMs = 30_000
const gui = blenderModes.find(({ mode }) => mode === 'gui')!

/** For a `before` hook. */
export function needWindowedBlender(context: Mocha.Context, ...tools: string[]): void {
  const needed = [...gui.needs, 'xdotool', 'import', ...tools]
  if (!hasPrograms(...needed)) {
    skipBecause(context, `one of ${needed.join(', ')} is not installed`)
  }
}

/** A Blender that runs for longer than `deadlineMs` is ended. */
export async function startLinkedBlender({ deadlineMs = 100_000 } = {}): Promise<LinkedBlender> {
  const addon = await installAddon(deadlineMs)
  const registryDir = join(addon.folder, 'registry')
  await mkdir(registryDir, { mode: 0o700 })
  const serve = () => startServe(registryDir, ['--dcc-type', 'blender', '--capture', 'host'])
  const first = await serve()
  let serving = first
  const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
  const blender = await startRemote(addon, { args: gui.args, env, command: [...gui.command] })
  await blender.tell('connect')
  await until(() => blender.ask('is_connected'), 'the link', linkMs)
  return {
    addon,
    serving: first,
    blender,
    stopServing: () => serving.stop(),
    serveAgain: async () => (serving = await serve()),
    async stop() {
      const left = await blender.quit()
      await serving.stop()
      await addon.remove()
      if (left !== 0) throw new Error(`Blender ended with ${left}\n${blender.run.output()}`)
    },
  }
}
