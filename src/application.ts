import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AppModule } from './app.module.js';
import { ShutdownService } from './connection/shutdown.service.js';
import type { Env } from './platform/env/env.js';
import { noteClientAddress } from './platform/http/client-address.js';
import { errorText, ProblemFilter } from './platform/http/problem.filter.js';
import { requestId } from './platform/http/request-id.js';
import { DtoValidationPipe } from './platform/http/validation.pipe.js';
import { Logger, nestLogger } from './platform/observe/logger.js';
import { Metrics } from './platform/observe/metrics.js';
import { Readiness } from './platform/observe/readiness.js';

/** Largest body of a REST call; anything bigger is a file, and files do not pass through here. */
const MAX_BODY = '64kb';

export interface Application {
  readonly nest: NestExpressApplication;
  /** Listens on HOST:PORT and reports ready. */
  start(): Promise<void>;
  /** Drains, closes everything; safe at any time, also twice. */
  stop(): Promise<void>;
}

/** Builds a node out of its settings; `main` and the tests use the same one. */
export async function createApplication(env: Env): Promise<Application> {
  const log = new Logger(env);
  answerStrayErrors(log);
  const nest = await NestFactory.create<NestExpressApplication>(AppModule.register(env), {
    logger: nestLogger(log),
    bodyParser: false,
    abortOnError: false,
  });
  nest.disable('x-powered-by');
  nest.use(requestId);
  nest.use(noteClientAddress(env.TRUSTED_PROXY_DEPTH));
  nest.useBodyParser('json', { limit: MAX_BODY });
  nest.useGlobalPipes(new DtoValidationPipe());
  nest.useGlobalFilters(new ProblemFilter(log));
  setUpDocs(nest);
  countStrayErrors(nest.get(Metrics));

  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  return {
    nest,
    start: () => (starting ??= listen(nest, env, log)),
    stop: () => (stopping ??= close(nest, starting, log)),
  };
}

async function listen(nest: NestExpressApplication, env: Env, log: Logger): Promise<void> {
  await nest.listen(env.PORT, env.HOST);
  nest.get(Readiness).start();
  log.info({ port: env.PORT }, 'the node is ready');
}

async function close(nest: NestExpressApplication, starting: Promise<void> | undefined, log: Logger): Promise<void> {
  await starting?.catch(() => undefined);
  log.info({}, 'the node drains');
  if (starting) await nest.get(ShutdownService).drain();
  await nest.close();
  log.info({}, 'the node has ended');
}

function setUpDocs(nest: NestExpressApplication): void {
  const config = new DocumentBuilder()
    .setTitle('Trident IM')
    .setDescription('REST interface. The socket events are described in docs/protocol.md.')
    .setVersion('1')
    .addBearerAuth()
    .build();
  SwaggerModule.setup('docs', nest, () => SwaggerModule.createDocument(nest, config));
}

let strayErrors: ((kind: string) => void) | undefined;
let answered = false;

/** A rejection that nobody handles must not end a process that holds thousands of connections; it is a defect to be seen. */
function answerStrayErrors(log: Logger): void {
  if (answered) return;
  answered = true;
  process.on('unhandledRejection', (reason) => {
    strayErrors?.('rejection');
    log.error({ err: errorText(reason) }, 'a promise was rejected and nobody handled it');
  });
}

function countStrayErrors(metrics: Metrics): void {
  const counter = metrics.counter('im_stray_errors_total', 'Errors that nothing handled; each is a defect', ['kind']);
  strayErrors = (kind) => counter.inc({ kind });
}
