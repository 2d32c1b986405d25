#!/usr/bin/env node
// The same program on src/*.ts, which Node reads by stripping the types: no build between edits.
import fs from 'node:fs'

const pjson = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
pjson.oclif.commands.target = './src/commands/index.ts'

if (process.features.typescript) {
  process.title = 'service-cli'
  const root = new URL('..', import.meta.url).href
  void import('../src/main.ts').then(main => main.main(process.argv.slice(2), { root, pjson }))
} else {
  const needed = pjson.engines.node.replace('>=', '')
  process.stderr.write(`bin/dev.js needs Node ${needed} or newer, this is ${process.version}\n`)
  process.exitCode = 1
}
