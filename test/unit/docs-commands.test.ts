import { expect } from 'chai'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Gateway from '../../src/commands/gateway.ts'
import Registry from '../../src/commands/registry/index.ts'
import { root } from '../helpers/program.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Installs whatever has been published under that name. */
const fromRegistry =
  /\bnpx (?:-\S+ )*service-cli\b|\bnpm (?:i|install|add|exec)\b(?: -\S+)* service-cli(?=[\s`'"@)]|$)/

describe('what readers are told to run', () => {
  it('installs no package of that name from a registry while it is not published', () => {
    const patterns = ['*.md', 'docs/*.md', 'adapters/**/*.{md,py}', 'src/**/*.ts']
    const found = globSync(patterns, { cwd: root }).flatMap(file =>
      read(file)
        .split('\n')
        .flatMap((line, at) => (fromRegistry.test(line) ? [`${file}:${at + 1}`] : [])),
    )
    expect(found).to.deep.equal([])
  })

  it('has only known flags in the units of docs/studio-servers.md', () => {
    const blocks = read('docs/studio-servers.md').matchAll(/^```ini\n([^]*?)^```/gm)
    const texts = Array.from(blocks, ([, block]) => block).join('\n')
    const commands = [...texts.matchAll(/service-cli (registry|gateway) (--.*)\n/g)]
    expect(commands).to.have.length(2)
    for (const [, name = '', flags = ''] of commands) {
      const known = Object.keys((name === 'gateway' ? Gateway : Registry).flags)
      for (const [, flag] of flags.matchAll(/--([a-z-]+)/g)) expect(known, name).to.contain(flag)
    }
  })
})
