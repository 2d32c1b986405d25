import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { insideBlender, type BlenderRun, type InstalledAddon } from './blender-addon.ts'

interface Said {
  ready?: true
  failed?: true
  did?: string
  at?: number
  found?: any
}

/** A Blender with the add-on that does what it is told. */
export interface Remote {
  readonly run: BlenderRun
  /** Resolves with the wall-clock time, in ms, at which Blender began to do it. */
  tell(word: string): Promise<number>
  /** The same; resolves with what Blender found. */
  ask(word: string): Promise<any>
  quit(): Promise<number | null>
}

export async function startRemote(
  addon: InstalledAddon,
  settings: {
    args: readonly string[]
    env: NodeJS.ProcessEnv
    command?: readonly string[]
    /** A Python file with more that it can be told. */
    words?: string
  },
): Promise<Remote> {
  const { args, env, command, words } = settings
  const script = join(insideBlender, 'remote.py')
  const files = words === undefined ? [] : [words]
  const run = addon.run([...args, '--python', script, '--', addon.folder, ...files], env, command)
  const waiting: ((said: Said) => void)[] = []
  const heard: Said[] = []
  if (run.child.stdout === null) throw new Error('Blender has no output')
  createInterface({ input: run.child.stdout }).on('line', line => {
    if (!line.startsWith('@')) return
    const said = JSON.parse(line.slice(1)) as Said
    const next = waiting.shift()
    if (next === undefined) heard.push(said)
    else next(said)
  })
  const next = (): Promise<Said> => {
    const said = heard.shift()
    const coming = said ?? new Promise<Said>(resolve => waiting.push(resolve))
    return Promise.race([coming, run.failed])
  }
  const ask = async (word: string): Promise<Said> => {
    run.child.stdin?.write(`${word}\n`)
    const said = await next()
    if (said.did !== word) throw new Error(`${word} failed in Blender\n${run.output()}`)
    return said
  }
  await next()
  return {
    run,
    tell: async word => (await ask(word)).at ?? 0,
    ask: async word => (await ask(word)).found,
    async quit() {
      run.child.stdin?.write('quit\n')
      return run.exited
    },
  }
}
