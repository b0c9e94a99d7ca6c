// Report runs, KPIs and LLM tokens of an agent to muster. docs/AGENTS.md of the project explains it.

export { Agent, type AgentDocument, type AgentOptions, type Policy } from "./agent.js";
export type { Field, KPI, Param } from "./declare.js";
export {
    ApiError,
    BudgetExceeded,
    MusterError,
    Refused,
    Unavailable,
    type Problem,
} from "./errors.js";
export { currentRun, Run } from "./run.js";
export type { Breakdown, CompleteOptions, Level, RunOptions, StepOptions } from "./run.js";
export { VERSION } from "./transport.js";
export { tokensOf, type Tokens } from "./usage.js";
