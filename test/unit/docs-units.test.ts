import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Gateway from '../../src/commands/gateway.ts'
import Registry from '../../src/commands/registry/index.ts'
import { root } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const text = readFileSync(join(root, 'docs', 'studio-servers.md'), 'utf8')
const blocks = (kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, block]) => block ?? '',
  )
const units = blocks('ini')

describe('the units and containers of docs/studio-servers.md', () => {
  it('have only flags that the program knows', () => {
    const texts = [...units, ...blocks('yaml')].join('\n').replaceAll(/\n +/g, ' ')
    const commands = [...texts.matchAll(/service-cli (registry|gateway) (--.*?)(?: ports:| #|\n)/g)]
    expect(commands.map(([, name]) => name).toSorted()).to.deep.equal([
      'gateway',
      'gateway',
      'registry',
      'registry',
    ])
    for (const [, name = '', flags = ''] of commands) {
      const known = Object.keys((name === 'gateway' ? Gateway : Registry).flags)
      for (const [, flag] of flags.matchAll(/--([a-z-]+)/g)) expect(known, name).to.contain(flag)
    }
  })

  it('are accepted by systemd', function () {
    const folder = mkdtempSync(join(tmpdir(), 'units-'))
    try {
      const files = units.map(unit => {
        const name = /([\w-]+\.service)$/m.exec(unit)?.[1] ?? ''
        const file = join(folder, name)
        // The program is not installed here.
        writeFileSync(file, unit.replaceAll('/usr/local/bin/service-cli', process.execPath))
        return file
      })
      expect(files).to.have.length(2)
      const { status, stderr, error } = spawnSync('systemd-analyze', ['verify', ...files], {
        encoding: 'utf8',
      })
      if (error !== undefined) skipBecause(this, 'systemd-analyze is not installed')
      const own = stderr.split('\n').filter(line => line.includes(folder))
      expect([status, own], stderr).to.deep.equal([0, []])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
