export { type Timer, systemTimer } from '../../lib/timer.ts'
