//! Goes through the life of a trainee's record with a client that progenitor has generated.
//!
//! The address of the API, with the version, is in `REGISTER_API`, the token in `REGISTER_TOKEN`,
//! and the file of the source document in
//! `REGISTER_DOCUMENT`.

use std::{env, fs};

use anyhow::{Context as _, bail, ensure};
use client::types::{
    BatchItem, BatchResultData, Change, CreateTraineeBody, CreateTraineeError,
    CreateTraineeResponse, ErrorCode, NewTrainee, Trainee, TraineeChanges, TraineeState,
    UpdateTraineeBody, WithdrawBody, Withdrawal,
};
use client::{Client, Error, ResponseValue};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What was generated.
#[allow(
    clippy::all,
    missing_docs,
    unused,
    reason = "the generated code is not reviewed, and one program uses a part of it"
)]
mod client {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}

type Refused = Error<CreateTraineeError>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let token = env::var("REGISTER_TOKEN").context("REGISTER_TOKEN")?;
    let headers = HeaderMap::from_iter([(
        AUTHORIZATION,
        HeaderValue::from_str(&format!("Bearer {token}"))?,
    )]);
    let sender = reqwest::Client::builder()
        .default_headers(headers)
        .build()?;
    let client =
        Client::new_with_client(&env::var("REGISTER_API").context("REGISTER_API")?, sender);
    let run = uuid::Uuid::new_v4().simple().to_string().split_off(24);
    let account = client.show_account(None).await?.into_inner().data;
    println!("rust: {} {}", account.provider.name, account.version);

    // Register, and send the request again.
    let key = format!("first-{run}");
    let first = register(
        &client,
        new_trainee("First", &run, "trainee@example.com")?,
        Some(&key),
    )
    .await?;
    let trainee_id = identifier(first.into_inner().data)?;
    let again = register(
        &client,
        new_trainee("First", &run, "trainee@example.com")?,
        Some(&key),
    )
    .await?;
    ensure!(
        again
            .headers()
            .get("idempotent-replayed")
            .is_some_and(|value| value == "true")
    );
    ensure!(identifier(again.into_inner().data)? == trainee_id);

    // A person who is registered already.
    match register(
        &client,
        new_trainee("First", &run, "trainee@example.com")?,
        None,
    )
    .await
    {
        Err(Error::ErrorResponse(reply)) if reply.status() == 409 => {
            let existing = reply.into_inner().data.into_iter().map(identifier);
            ensure!(existing.collect::<Result<Vec<_>, _>>()? == [trainee_id.clone()]);
        }
        other => bail!("a duplicate: {other:?}"),
    }

    // Wrong values, by field.
    match register(&client, new_trainee("Second", &run, "unknown")?, None).await {
        Err(Error::ErrorResponse(reply)) if reply.status() == 422 => {
            let [error] = reply.errors.as_slice() else {
                bail!("{reply:?}")
            };
            ensure!(
                error.field.as_deref() == Some("email") && error.code == Some(ErrorCode::NotEmail)
            );
        }
        other => bail!("a wrong value: {other:?}"),
    }

    // A batch with one refused item.
    let item = |last_name: &str, email: &str| -> anyhow::Result<BatchItem> {
        let idempotency_key = format!("{last_name}-{run}");
        Ok(BatchItem {
            data: new_trainee(last_name, &run, email)?,
            idempotency_key,
        })
    };
    let items = vec![
        item("Third", "trainee@example.com")?,
        item("Fourth", "unknown")?,
        item("Fifth", "trainee@example.com")?,
    ];
    let results = client
        .create_trainees(None, &items)
        .await?
        .into_inner()
        .data;
    ensure!(
        results
            .iter()
            .map(|result| result.status)
            .collect::<Vec<_>>()
            == [201, 422, 201]
    );
    // The generator does not name the variants: the second one has existing trainees.
    let created: Vec<String> = results
        .into_iter()
        .filter_map(|result| match result.data? {
            BatchResultData::Variant0(trainee) => Some(identifier(trainee)),
            BatchResultData::Variant1(_) => None,
        })
        .collect::<Result<_, _>>()?;
    ensure!(created.len() == 2);
    let expected: Vec<&String> = created.iter().chain([&trainee_id]).collect();

    // All pages.
    let mut listed: Vec<String> = Vec::new();
    let mut cursor: Option<String> = None;
    let two = Some(2.try_into()?);
    loop {
        let page = client
            .list_trainees(
                Some("2026"),
                cursor.as_deref(),
                None,
                None,
                None,
                two,
                None,
                None,
                None,
                None,
                None,
            )
            .await?;
        cursor = next_cursor(page.headers())?;
        let trainees = page.into_inner().data.into_iter();
        listed.extend(trainees.filter_map(|trainee| trainee.trainee_id));
        if cursor.is_none() {
            break;
        }
    }
    ensure!(expected.iter().all(|id| listed.contains(id)));

    // An update of an unchanged record.
    let id = trainee_id.as_str();
    let shown = client.show_trainee(id, None, None).await?;
    let tag = shown
        .headers()
        .get("etag")
        .context("no ETag")?
        .to_str()?
        .to_owned();
    let data = TraineeChanges {
        email: Some("new@example.com".parse()?),
        ..TraineeChanges::default()
    };
    let update = UpdateTraineeBody { data };
    let updated = client
        .update_trainee(id, Some(&tag), None, &update)
        .await?
        .into_inner()
        .data;
    ensure!(
        updated
            .email
            .as_ref()
            .is_some_and(|email| email.to_string() == "new@example.com")
    );
    match client.update_trainee(id, Some(&tag), None, &update).await {
        Err(Error::ErrorResponse(reply)) => ensure!(reply.status() == 412, "{reply:?}"),
        other => bail!("an outdated tag: {other:?}"),
    }

    // The changes so far, a withdrawal, and what is new.
    let (changed, after) = changes(&client, None).await?;
    ensure!(
        expected
            .iter()
            .all(|id| changed.iter().any(|change| change.trainee_id == **id))
    );
    let mut withdrawal: Withdrawal = example("/trainees/{trainee_id}/withdraw")?;
    withdrawal.reasons = Some(vec!["trainee_workload_issues".to_owned()]);
    let withdrawn = client
        .withdraw(id, None, None, None, &WithdrawBody { data: withdrawal })
        .await?
        .into_inner()
        .data;
    ensure!(withdrawn.state == TraineeState::Withdrawn);
    let (news, _) = changes(&client, Some(after)).await?;
    let [news] = news.as_slice() else {
        bail!("{} changes", news.len())
    };
    ensure!(news.trainee_id == trainee_id);
    println!(
        "rust: ok, {} trainees listed, {} changes",
        listed.len(),
        changed.len()
    );
    Ok(())
}

/// The example of a request that creates something: a whole record in the names of the version.
fn example<T: DeserializeOwned>(path: &str) -> anyhow::Result<T> {
    let document: Value =
        serde_json::from_str(&fs::read_to_string(env::var("REGISTER_DOCUMENT")?)?)?;
    let post = &document["paths"][path]["post"];
    Ok(serde_json::from_value(
        post["requestBody"]["content"]["application/json"]["example"]["data"].clone(),
    )?)
}

/// A trainee whom the register accepts; the last name tells one from another.
fn new_trainee(last_name: &str, run: &str, email: &str) -> anyhow::Result<NewTrainee> {
    Ok(NewTrainee {
        last_name: format!("{last_name}-{run}").parse()?,
        date_of_birth: "1999-04-12".to_owned(),
        sex: "11".parse()?,
        email: email.parse()?,
        ..example("/trainees")?
    })
}

async fn register(
    client: &Client,
    trainee: NewTrainee,
    key: Option<&str>,
) -> Result<ResponseValue<CreateTraineeResponse>, Refused> {
    client
        .create_trainee(key, None, &CreateTraineeBody { data: trainee })
        .await
}

/// The trainees who have changed, in the order of their changes, and where to go on.
async fn changes(
    client: &Client,
    mut after: Option<String>,
) -> anyhow::Result<(Vec<Change>, String)> {
    let mut changed = Vec::new();
    loop {
        let page = client
            .list_changes(after.as_deref(), Some(2.try_into()?), None, None)
            .await?
            .into_inner();
        changed.extend(page.data);
        if !page.meta.has_more {
            return Ok((changed, page.meta.after));
        }
        after = Some(page.meta.after);
    }
}

/// The cursor in the link to the next page.
fn next_cursor(headers: &HeaderMap) -> anyhow::Result<Option<String>> {
    let Some(links) = headers.get("link") else {
        return Ok(None);
    };
    let next = links
        .to_str()?
        .split(", <")
        .find(|link| link.ends_with("rel=\"next\""));
    let Some(next) = next.and_then(|link| link.trim_start_matches('<').split('>').next()) else {
        return Ok(None);
    };
    let url = reqwest::Url::parse("http://localhost")?.join(next)?;
    Ok(url
        .query_pairs()
        .find(|(name, _)| name == "cursor")
        .map(|(_, value)| value.into_owned()))
}

/// The identifier, which is null only in the reply to a request with `Prefer: validate-only`.
fn identifier(trainee: Trainee) -> anyhow::Result<String> {
    trainee.trainee_id.context("no identifier")
}
