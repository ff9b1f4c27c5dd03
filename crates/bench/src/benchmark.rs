//! Who is measured, and in which order: in rounds, in each of them one scenario after the other, and everybody in turn.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use test_support::Collector;

use crate::database::Databases;
use crate::http::Client;
use crate::load::{Load, Turn};
use crate::pages::Reader;
use crate::process::{LOAD, all_processors, pin};
use crate::register::{Program, Register, Server};
use crate::scenario::{Facts, Scenario, mixed};
use crate::{Options, Outcome, limit};

/// The largest register that is copied anew after each turn that writes. In a larger one, what is written hardly counts.
const MAX_COPIED_TRAINEES: usize = 100_000;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The limit program.
    Limit,
    /// The same with a commit for each insert.
    LimitAlone,
    /// The program before.
    Before,
    /// The program, over so many trainees.
    Register(usize),
    /// The program over the first register, with so many percent of the requests traced.
    Traced(u8),
    /// The program over the first register, while somebody opens so many pages of the settings a second.
    Pages(u8),
    /// The program over the first register, with reads from a standby.
    Replica,
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit => write!(formatter, "limit"),
            Self::LimitAlone => write!(formatter, "limit with a commit for each"),
            Self::Before => write!(formatter, "before"),
            Self::Register(trainees) => write!(formatter, "now, {trainees} trainees"),
            Self::Traced(percent) => write!(formatter, "now, {percent} % traced"),
            Self::Pages(rate) => write!(formatter, "now, with {rate} pages a second"),
            Self::Replica => write!(formatter, "now, with reads from a standby"),
        }
    }
}

/// What was measured on one kind of database.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// Trainees in the registers, the size first that is compared with all else.
    pub(crate) sizes: Vec<usize>,
    /// All turns, in the order of the rounds.
    pub(crate) turns: BTreeMap<(Scenario, Who), Vec<Turn>>,
    /// From the start of the process until it is ready.
    pub(crate) starts: BTreeMap<Who, Vec<Duration>>,
    /// Resident memory after the mixed load, in mebibytes.
    pub(crate) memory: BTreeMap<Who, f64>,
}

/// Everybody who takes part, ready to begin.
pub(crate) struct Contest {
    limit: Option<Server>,
    registers: Vec<(Who, Register, Facts)>,
    loads: BTreeMap<(Scenario, Who), Load>,
    sizes: Vec<usize>,
    /// Takes the traces, and keeps nothing.
    _collector: Option<Collector>,
}

impl Contest {
    /// Fills what is not there yet, and starts everybody.
    pub(crate) fn prepare(
        options: &Options,
        kind: &str,
        program: &Rc<Program>,
        before: Option<&Rc<Program>>,
    ) -> Outcome<Self> {
        pin(std::process::id(), &all_processors()?)?;
        let folder = &options.folder;
        let databases = Rc::new(Databases::open(kind, folder)?);
        let first = *options.trainees.first().ok_or("no number of trainees")?;
        let mut registers = Vec::new();
        for trainees in &options.trainees {
            let register = Register::new(program, &databases, *trainees, &format!("now_{trainees}"), folder)?;
            registers.push((Who::Register(*trainees), register));
        }
        if let Some(before) = before {
            registers.push((Who::Before, Register::new(before, &databases, first, "before", folder)?));
        }
        let collector = (!options.traces.is_empty()).then(Collector::discarding);
        for percent in &options.traces {
            let url = collector.as_ref().map(Collector::url).unwrap_or_default();
            let ratio = format!("{}", f64::from(*percent) / 100.0);
            let traced = ["--otlp-endpoint", &url, "--trace-sample-ratio", &ratio].map(str::to_owned);
            let register = Register::new(program, &databases, first, &format!("traced_{percent}"), folder)?;
            registers.push((Who::Traced(*percent), register.with_options(traced.to_vec())));
        }
        if let Some(rate) = options.pages {
            let register = Register::new(program, &databases, first, "pages", folder)?;
            registers.push((Who::Pages(rate), register));
        }
        if options.replica && kind == "postgres" {
            // It has all databases of the server, also those that are made later.
            let standby = databases.standby()?;
            let register = Register::new(program, &databases, first, "replica", folder)?;
            registers.push((Who::Replica, register.reading_from(standby)));
        }
        databases.pin()?;
        pin(std::process::id(), LOAD)?;
        let mut contest = Self {
            limit: None,
            registers: Vec::new(),
            loads: BTreeMap::new(),
            sizes: options.trainees.clone(),
            _collector: collector,
        };
        let scenarios: Vec<_> =
            Scenario::ALL.into_iter().filter(|scenario| options.is_requested(scenario.name())).collect();
        for (who, mut register) in registers {
            register.copy()?;
            register.start()?;
            let facts = Facts::of(&register)?;
            let loads = scenarios.iter().filter_map(|scenario| Some(((*scenario, who), scenario.load(&facts)?)));
            contest.loads.extend(loads);
            contest.registers.push((who, register, facts));
        }
        // Of PostgreSQL, the program before is the measure.
        if kind == "sqlite" {
            contest.begin_limit(folder, &scenarios)?;
        }
        Ok(contest)
    }

    /// Starts the limit program with the replies of the first register.
    fn begin_limit(&mut self, folder: &Path, scenarios: &[Scenario]) -> Outcome<()> {
        let (_, register, facts) = self.registers.first().ok_or("there is no register")?;
        let mut client = Client::connect(register.server()?.address)?;
        let databases = Databases::open("sqlite", folder)?;
        databases.create("limit")?;
        let url = databases.url("limit");
        let path = url.trim_start_matches("sqlite://");
        for scenario in scenarios.iter().filter(|scenario| scenario.has_limit()) {
            limit::fill(path, scenario.replies(facts, &mut client)?)?;
            self.loads.insert((*scenario, Who::Limit), scenario.load_on_limit(facts, false));
        }
        if scenarios.contains(&Scenario::Post) {
            self.loads.insert((Scenario::Post, Who::LimitAlone), Scenario::Post.load_on_limit(facts, true));
        }
        let (program, log) = (std::env::current_exe()?, folder.join("limit.log"));
        self.limit = Some(Server::start(&program, &log, None, None, |port, _| {
            ["limit", path, &port.to_string()].map(str::to_owned).to_vec()
        })?);
        Ok(())
    }

    /// Measures everything that is asked for.
    pub(crate) fn run(mut self, options: &Options) -> Outcome<Results> {
        let mut results = Results { sizes: self.sizes.clone(), ..Results::default() };
        for round in 1..=options.rounds {
            for scenario in Scenario::ALL.into_iter().filter(|scenario| options.is_requested(scenario.name())) {
                let mut line = format!("bench: {} {round}:", scenario.name());
                let contestants: Vec<_> = self.loads.keys().filter(|key| key.0 == scenario).copied().collect();
                for key in contestants {
                    let turn = self.turn(key, options.turn())?;
                    line += &format!(" {} {:.0}/s {:.1} us;", key.1, turn.rate, turn.processor);
                    results.turns.entry(key).or_default().push(turn);
                }
                eprintln!("{line}");
            }
        }
        for (who, register, facts) in &mut self.registers {
            if options.is_requested("start") {
                for _ in 0..options.rounds {
                    register.start()?;
                    results.starts.entry(*who).or_default().push(register.server()?.started_in);
                }
            }
            if options.is_requested("memory") {
                register.copy()?;
                register.start()?;
                let server = register.server()?;
                let time = Duration::from_secs(options.memory_seconds);
                let turn = mixed(facts).run(server.address, time, || server.meter.processor_time())?;
                eprintln!("bench: {who}: {:.0} requests a second of the mixed load", turn.rate);
                results.memory.insert(*who, server.meter.memory()?);
            }
        }
        Ok(results)
    }

    fn turn(&mut self, (scenario, who): (Scenario, Who), time: Duration) -> Outcome<Turn> {
        let register = self.registers.iter_mut().find(|(other, _, _)| *other == who).map(|(_, register, _)| register);
        let server = match &register {
            Some(register) => register.server()?,
            None => self.limit.as_ref().ok_or("there is no limit program")?,
        };
        server.empty_log()?;
        let load = self.loads.get_mut(&(scenario, who)).ok_or("there is no load")?;
        let reader = match (who, &register) {
            (Who::Pages(rate), Some(register)) => Some(Reader::start(server.address, &register.invite()?, rate)?),
            (_, _) => None,
        };
        let turn = load.run(server.address, time, || server.meter.processor_time());
        let turn = turn.map_err(|error| format!("{} of {who}: {error}", scenario.name()))?;
        if let Some(reader) = reader
            && reader.stop()? == 0
        {
            return Err("no page was opened".into());
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
