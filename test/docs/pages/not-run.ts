/** Commands of the pages that no reader of the test machine can type, each with the reason and the test that holds it instead. */
export const notRun: { readonly [reason: string]: RegExp } = {
  'needs the published package; test/commands/project/code packs it and imports it':
    /^npm install --global\b/,
  'needs Docker; test/images builds and runs the images': /\bdocker\b/,
  'needs a Kubernetes cluster; test/charts renders and validates the charts': /\b(?:kubectl|helm)\b/,
  'needs root on a server; test/packaging reads the units and unpacks the package':
    /\bsudo\b|\bapt-get\b|\binstall -m 0400 -o\b/,
  'starts everything; test/docs/run-blocks does so once':
    /^(?:[A-Z_]+=\S+ )*npm start\b|^location-agent dev\b|^SERVICE_PORT=0 .* dev$/,
  'builds, tests or measures the project for minutes':
    /^npm (?:test|run (?:build|check|test:images|test:long|bench|fuzz|format|openapi|lint-openapi|observability|release))\b/,
  'runs faults for minutes; npm run chaos -- --list is run': /^(?:[A-Z_]+=\S+ )*npm run chaos(?! -- --list)/,
  'makes files of the project: pictures, and a table of measured figures':
    /^node scripts\/(?:screenshots|chaos-table)\.mjs\b/,
  'needs a bucket; test/service/artifacts uses one': /\bSERVICE_ARTIFACT_STORE=s3:/,
  'needs a database server; test/service/db uses one': /\bDATABASE_URL=postgres:/,
  'needs the modules and targets of the reader; test/agent/start.test.ts does the same':
    /\bPROBE_CONFIG=|:8081\/probe\b/,
  'needs the compiler of .proto files, and takes those of the reader': /\bprotoc\b/,
  'installs the packages of a suite; test/commands/run/run-folder runs one':
    /^(?:location-agent|node dist\/main\.js) run (?:e2e|my-playwright-project)\b/,
  'needs an installed package; test/packaging/deb reads its manual page': /^man\b/,
  'is for another shell; test/commands/line runs each': /\bcompletion (?:zsh|fish)\b/,
};
