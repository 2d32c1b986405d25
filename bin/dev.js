#!/usr/bin/env node
// The same program on src/*.ts, which Node reads by stripping the types: no build between edits.
import { readFileSync } from 'node:fs'
import { main } from '../src/main.ts'

const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const pjson = JSON.parse(file.replaceAll('./dist/', './src/'))
void main(process.argv.slice(2), { pjson, ignoreManifest: true })
