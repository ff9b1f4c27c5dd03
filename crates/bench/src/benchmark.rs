//! The order of measurements: rounds of scenarios, and for each scenario all targets in turn.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::database::Databases;
use crate::http::Client;
use crate::limit::{self, CommitMode};
use crate::load::{Load, Turn};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::pages::Reader;
use crate::plain;
use crate::process::{LOAD, all_processors, pin};
use crate::register::{Program, Register, Server};
use crate::scenario::{Facts, Scenario, mixed};

/// The largest register that is copied again after each turn that writes. In a larger one, the
/// written rows hardly matter.
const MAX_COPIED_TRAINEES: usize = 100_000;

/// A target of the measurement: a program with its register and conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The limit program.
    Limit,
    /// The limit program with one commit per insert.
    LimitPerInsert,
    /// The plain service over the trainees of the first register.
    Plain,
    /// The program before.
    Before,
    /// The program with this number of trainees.
    Register(usize),
    /// The program over the first register, while a reader opens this number of settings pages a
    /// second.
    Pages(u8),
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit => write!(formatter, "limit"),
            Self::LimitPerInsert => write!(formatter, "limit, one commit per insert"),
            Self::Plain => write!(formatter, "plain"),
            Self::Before => write!(formatter, "before"),
            Self::Register(trainees) => write!(formatter, "now, {trainees} trainees"),
            Self::Pages(rate) => write!(formatter, "now, {rate} page views/s"),
        }
    }
}

/// What was measured on one kind of database.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// Trainees in the registers, the size first that is compared with all else.
    pub(crate) sizes: Vec<usize>,
    /// All turns, in the order of the rounds.
    pub(crate) turns: BTreeMap<(Scenario, Target), Vec<Turn>>,
    /// From the start of the process until it is ready.
    pub(crate) starts: BTreeMap<Target, Vec<Duration>>,
    /// Resident memory after the mixed load, in mebibytes.
    pub(crate) memory: BTreeMap<Target, f64>,
}

/// All targets, started, with their loads.
pub(crate) struct Benchmark {
    limit: Option<Server>,
    registers: Vec<(Target, Register, Rc<Facts>)>,
    loads: BTreeMap<(Scenario, Target), Load>,
    sizes: Vec<usize>,
}

impl Benchmark {
    /// Fills registers that do not exist yet, and starts all targets.
    pub(crate) fn prepare(
        options: &Options,
        kind: &str,
        program: &Rc<Program>,
        before: Option<&Rc<Program>>,
    ) -> Outcome<Self> {
        pin(std::process::id(), &all_processors()?)?;
        let folder = &options.folder;
        let databases = Rc::new(Databases::open(kind, folder)?);
        let first = *options.trainees.first().ok_or("--trainees is empty")?;
        let mut registers = Vec::new();
        for trainees in &options.trainees {
            let register = Register::new(
                program,
                &databases,
                *trainees,
                &format!("now_{trainees}"),
                folder,
            )?;
            registers.push((Target::Register(*trainees), register));
        }
        if let Some(before) = before {
            registers.push((
                Target::Before,
                Register::new(before, &databases, first, "before", folder)?,
            ));
        }
        if let Some(rate) = options.pages {
            let register = Register::new(program, &databases, first, "pages", folder)?;
            registers.push((Target::Pages(rate), register));
        }
        databases.pin()?;
        pin(std::process::id(), LOAD)?;
        let mut benchmark = Self {
            limit: None,
            registers: Vec::new(),
            loads: BTreeMap::new(),
            sizes: options.trainees.clone(),
        };
        let scenarios: Vec<_> = Scenario::ALL
            .into_iter()
            .filter(|scenario| options.is_requested(scenario.name()))
            .collect();
        for (target, mut register) in registers {
            register.copy()?;
            register.start()?;
            let facts = Rc::new(Facts::fetch(&register)?);
            let loads = scenarios
                .iter()
                .filter_map(|scenario| Some(((*scenario, target), scenario.load(&facts)?)));
            benchmark.loads.extend(loads);
            benchmark.registers.push((target, register, facts));
        }
        if let Some(program) = &options.plain {
            benchmark.begin_plain(program, folder, &scenarios)?;
        }
        // Of PostgreSQL, the program before is the measure.
        if kind == "sqlite" {
            benchmark.begin_limit(folder, &scenarios)?;
        }
        Ok(benchmark)
    }

    /// Fills and starts the plain service, and compares its replies with the first register's.
    fn begin_plain(
        &mut self,
        program: &Path,
        folder: &Path,
        scenarios: &[Scenario],
    ) -> Outcome<()> {
        let (_, register, facts) = self.registers.first_mut().ok_or("no register to measure")?;
        eprintln!("bench: filling the plain service");
        let mut plain = plain::fill(program, register, facts, folder)?;
        plain.copy()?;
        plain.start()?;
        plain::compare(register, &plain, facts, scenarios)?;
        // The comparison has registered a trainee.
        for register in [&mut *register, &mut plain] {
            if register.trainees <= MAX_COPIED_TRAINEES {
                register.copy()?;
                register.start()?;
            }
        }
        let facts = Rc::clone(facts);
        let compared = scenarios.iter().filter(|scenario| scenario.has_plain());
        let loads = compared
            .filter_map(|scenario| Some(((*scenario, Target::Plain), scenario.load(&facts)?)));
        self.loads.extend(loads);
        self.registers.push((Target::Plain, plain, facts));
        Ok(())
    }

    /// Starts the limit program with the replies of the first register.
    fn begin_limit(&mut self, folder: &Path, scenarios: &[Scenario]) -> Outcome<()> {
        let (_, register, facts) = self.registers.first().ok_or("no register to measure")?;
        let mut client = Client::connect(register.server()?.address)?;
        let databases = Databases::open("sqlite", folder)?;
        databases.create("limit")?;
        let url = databases.url("limit");
        let path = url.trim_start_matches("sqlite://");
        for scenario in scenarios.iter().filter(|scenario| scenario.has_limit()) {
            limit::fill(path, scenario.replies(facts, &mut client)?)?;
            self.loads.insert(
                (*scenario, Target::Limit),
                scenario.load_on_limit(facts, CommitMode::Shared),
            );
        }
        if scenarios.contains(&Scenario::Post) {
            self.loads.insert(
                (Scenario::Post, Target::LimitPerInsert),
                Scenario::Post.load_on_limit(facts, CommitMode::PerInsert),
            );
        }
        let (program, log) = (std::env::current_exe()?, folder.join("limit.log"));
        self.limit = Some(Server::start(&program, &log, None, None, |port, _| {
            ["limit", path, &port.to_string()]
                .map(str::to_owned)
                .to_vec()
        })?);
        Ok(())
    }

    /// Measures all that is requested.
    pub(crate) fn run(mut self, options: &Options) -> Outcome<Results> {
        let mut results = Results {
            sizes: self.sizes.clone(),
            ..Results::default()
        };
        for round in 1..=options.rounds {
            for scenario in Scenario::ALL
                .into_iter()
                .filter(|scenario| options.is_requested(scenario.name()))
            {
                let mut line = format!("bench: {} {round}:", scenario.name());
                let targets: Vec<_> = self
                    .loads
                    .keys()
                    .filter(|key| key.0 == scenario)
                    .copied()
                    .collect();
                for key in targets {
                    let turn = self.turn(key, options.turn())?;
                    line += &format!(" {} {:.0}/s {:.1} us;", key.1, turn.rate, turn.processor);
                    results.turns.entry(key).or_default().push(turn);
                }
                eprintln!("{line}");
            }
        }
        for (target, register, facts) in &mut self.registers {
            if options.is_requested("start") {
                for _ in 0..options.rounds {
                    register.start()?;
                    results
                        .starts
                        .entry(*target)
                        .or_default()
                        .push(register.server()?.started_in);
                }
            }
            if options.is_requested("memory") {
                register.copy()?;
                register.start()?;
                let server = register.server()?;
                let time = Duration::from_secs(options.memory_seconds);
                let turn =
                    mixed(facts).run(server.address, time, || server.meter.processor_time())?;
                eprintln!("bench: {target}: mixed load: {:.0} requests/s", turn.rate);
                results.memory.insert(*target, server.meter.memory()?);
            }
        }
        Ok(results)
    }

    fn turn(&mut self, (scenario, target): (Scenario, Target), time: Duration) -> Outcome<Turn> {
        let register = self
            .registers
            .iter_mut()
            .find(|(other, _, _)| *other == target)
            .map(|(_, register, _)| register);
        let server = match &register {
            Some(register) => register.server()?,
            None => self
                .limit
                .as_ref()
                .ok_or("the limit program is not running")?,
        };
        server.empty_log()?;
        let load = self
            .loads
            .get_mut(&(scenario, target))
            .ok_or("the scenario has no load")?;
        let reader = match (target, &register) {
            (Target::Pages(rate), Some(register)) => {
                Some(Reader::start(server.address, &register.invite()?, rate)?)
            }
            (_, _) => None,
        };
        let turn = load.run(server.address, time, || server.meter.processor_time());
        let turn = turn.map_err(|error| format!("{} of {target}: {error}", scenario.name()))?;
        if let Some(reader) = reader
            && reader.stop()? == 0
        {
            return Err("the page reader opened no page".into());
        }
        if let Some(register) = register
            && scenario.writes()
            && register.trainees <= MAX_COPIED_TRAINEES
        {
            register.copy()?;
            register.start()?;
        }
        Ok(turn)
    }
}
